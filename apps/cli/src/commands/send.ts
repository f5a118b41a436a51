import { randomUUID } from 'node:crypto';
import { constants, openAsBlob } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer as bytesOf } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import {
  type AwaitedStatus,
  type NewSend,
  type QueuedSend,
  type SendOptions,
  type Tidings,
  TidingsError,
} from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { CommandFault, StoredSendFault, UnconfirmedSendFault } from '../failure.js';
import { mediaTypeOf } from '../media-type.js';
import { futureTimeOf } from '../output/duration.js';
import { jsonObject, wholeNumber } from '../settings/option-values.js';

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Options {
  file?: string;
  fileUrl?: string;
  type?: string;
  reference?: string;
  metadata?: Record<string, unknown>;
  sendAt?: string;
  expiresAt?: string;
  idempotencyKey?: string;
  wait?: AwaitedStatus;
  timeout: number;
}

/** Adds `send`. */
export function addSend(program: Command, terminal: Terminal): void {
  program
    .command('send')
    .description('send a text or a file')
    .argument('<phoneNumber>', 'recipient, for example +15551230001')
    .argument('[text]', 'the text; - reads it from standard input')
    .option('--file <path>', 'attach a file; the extension of the file name decides the media type')
    .option('--file-url <url>', 'attach a file that the messaging service downloads')
    .option('--type <type>', 'type of the message, a word in lower case')
    .option('--reference <text>', 'your own id for the send')
    .option('--metadata <json>', 'JSON object to store with the send', jsonObject)
    .option('--send-at <time>', 'when to send, for example 2030-01-31T09:00:00Z')
    .option(
      '--expires-at <time>',
      'latest time to send; later, the send expires; for example 2030-01-31T09:00:00Z',
    )
    .option(
      '--idempotency-key <key>',
      'repeating the command with the same key does not send twice while the key is kept',
    )
    .addOption(
      new Option('--wait [status]', 'wait until the send has this status')
        .choices(['accepted', 'sent', 'delivered', 'read'])
        .preset('delivered'),
    )
    .option('--timeout <seconds>', 'maximum time to wait with --wait', wholeNumber(1, 86_400), 300)
    .showHelpAfterError('(see: tidings send --help; a text that begins with a hyphen comes last, after --)')
    .action(action(terminal, send));
}

async function send(
  context: CommandContext,
  phoneNumber: string,
  text: string | undefined,
  options: Options,
): Promise<undefined> {
  const { output, signal, terminal } = context;
  const tidings = await context.client();
  const form = newSend(phoneNumber, text === '-' ? await readText(terminal) : text, options);
  // Nothing was sent yet, so the error need not say how to repeat the command safely.
  signal.throwIfAborted();
  const queued = await store(tidings, form, { signal, ...(await attachment(options)) });
  if (options.wait === undefined) {
    output.result(queued, `Queued as ${queued.id}.`);
    return;
  }
  if (!output.isJson) output.note(`Queued as ${queued.id}. Waiting until it is ${options.wait} …`);
  try {
    const done = await tidings.waitFor(queued, options.wait, { signal, timeoutMs: options.timeout * 1_000 });
    output.result(done, `${done.id} is ${done.status}.`);
  } catch (error) {
    // The error contains the id of the send. Without the id, a script could only send again.
    throw new StoredSendFault(queued.id, error);
  }
}

/** Sends with an idempotency key. If the outcome is not known, the error contains the key. */
async function store(tidings: Tidings, form: NewSend, options: SendOptions): Promise<QueuedSend> {
  const { idempotencyKey = randomUUID() } = options;
  try {
    return await tidings.send(form, { ...options, idempotencyKey });
  } catch (error) {
    const isRejected = error instanceof TidingsError && !error.mayHaveBeenExecuted;
    // A TypeError says that the client library sent nothing.
    throw isRejected || error instanceof TypeError ? error : new UnconfirmedSendFault(idempotencyKey, error);
  }
}

function newSend(phoneNumber: string, message: string | undefined, options: Options): NewSend {
  const { fileUrl, type, reference, metadata, sendAt, expiresAt } = options;
  return {
    phoneNumber,
    ...(message === undefined ? {} : { message }),
    ...(fileUrl === undefined ? {} : { fileUrl }),
    ...(type === undefined ? {} : { type }),
    ...(reference === undefined ? {} : { reference }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(sendAt === undefined ? {} : { sendAt: futureTimeOf(sendAt, '--send-at').toISOString() }),
    ...(expiresAt === undefined ? {} : { expiresAt: futureTimeOf(expiresAt, '--expires-at').toISOString() }),
  };
}

async function attachment({ file, idempotencyKey }: Options): Promise<SendOptions> {
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  if (file === undefined) return key;
  if (!(await isReadable(file))) throw new CommandFault(`--file: ${file} is not a file that can be read`);
  const blob = await openAsBlob(file, { type: mediaTypeOf(file) });
  return { ...key, file: blob, fileName: basename(file) };
}

/** Returns true if the file can be read. `openAsBlob` also accepts other files, but their upload fails. */
async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Reads the text of a send.
 * @throws {CommandFault} if it is not valid UTF-8, because the recipient would get a damaged text
 */
async function readText({ stdin, signal }: Terminal): Promise<string> {
  const bytes = await bytesOf(addAbortSignal(signal, stdin));
  try {
    return UTF_8.decode(bytes).replace(/\n$/, '');
  } catch {
    throw new CommandFault('The text on standard input is not valid UTF-8. Nothing was sent.');
  }
}
