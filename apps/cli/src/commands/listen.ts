import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Event, signWebhook } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { CommandFault } from '../failure.js';
import { fetchFault } from '../fetch-fault.js';
import type { Forwarded, Forwarder } from '../listen/forwarder.js';
import { duration } from '../output/duration.js';
import { excerpt, printable } from '../output/printable.js';
import { collect, wholeNumber } from '../settings/option-values.js';
import { noteCursor, summary } from './events.js';
import { openStream } from './opened-stream.js';

interface Options {
  forward: string;
  types?: string[];
  contact?: string;
  after: string;
  timeout: number;
}

/** Maximum of the option `--timeout`: `fetch` never waits longer for the beginning of an answer. */
const MAX_TIMEOUT_SECONDS = 300;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 5_000;

/** Adds `listen`. */
export function addListen(program: Command, terminal: Terminal): void {
  program
    .command('listen')
    .description('forward events to a local address, signed like the deliveries of a webhook')
    .requiredOption('--forward <url>', 'address to post to, for example http://localhost:8080/hook')
    .option('--types <types>', 'only these event types, for example message.*', collect)
    .option('--contact <id>', 'only events of this contact')
    .option('--after <cursor>', 'only events after this cursor; `now` selects only new events', 'now')
    .option(
      '--timeout <seconds>',
      'time limit for each answer of the receiver',
      wholeNumber(1, MAX_TIMEOUT_SECONDS),
      15,
    )
    .addHelpText(
      'after',
      `
The signing secret is the value of TIDINGS_WEBHOOK_SECRET. If this variable is not set, a new secret is printed at
the start: with --json to standard error, as {"secret":"whsec_…"}. At the end, the cursor at which to continue is
printed to standard error: with --json as {"after":"…"}.
Events are forwarded one at a time, in order. If the receiver cannot be reached or does not answer in time, the event
is sent again until it answers. An answer with any status is shown, and the next event follows. If the connection to
the gateway breaks, no event is lost or forwarded twice.`,
    )
    .action(action(terminal, listen));
}

async function listen(context: CommandContext, options: Options): Promise<undefined> {
  const { output, terminal } = context;
  if (!URL.canParse(options.forward) || !/^https?:$/.test(new URL(options.forward).protocol))
    throw new CommandFault(
      `--forward: ${options.forward} is not an address such as http://localhost:8080/hook`,
    );
  const { username, password } = new URL(options.forward);
  if (username !== '' || password !== '')
    throw new CommandFault('--forward: the address must not contain a user name or password');
  const given = terminal.environment['TIDINGS_WEBHOOK_SECRET'] ?? '';
  const secret = given === '' ? `whsec_${randomBytes(32).toString('base64')}` : given;
  await assertSecret(secret);
  // Loaded only here, because loading this module takes longer than most commands run.
  const { Forwarder } = await import('../listen/forwarder.js');
  const forwarder = new Forwarder({ url: options.forward, secret, timeoutMs: options.timeout * 1_000 });
  const { stream, start } = await openStream(context, options);
  const { url } = await context.connection();
  if (output.isJson) {
    // The receiver needs the secret to verify the deliveries. It goes to standard error, because standard output
    // contains only events.
    if (given === '') output.noteJson({ secret });
  } else {
    output.line(`Forwarding events of ${url} to ${options.forward}`);
    if (given === '') output.line(`Signing secret: ${secret}`);
    output.line('Press Ctrl-C to stop.');
  }
  let cursor = start;
  try {
    for await (const event of stream) {
      const forwarded = await forwardWhenReachable(context, forwarder, event);
      if (forwarded === undefined) break;
      cursor = stream.cursor ?? start;
      show(context, event, forwarded);
    }
  } finally {
    noteCursor(output, cursor);
  }
}

/** @throws {CommandFault} if nothing can be signed with the secret */
async function assertSecret(secret: string): Promise<void> {
  try {
    await signWebhook('', { id: '', secret });
  } catch {
    throw new CommandFault('TIDINGS_WEBHOOK_SECRET is not a signing secret of the form whsec_…');
  }
}

/** Forwards an event as soon as the receiver can be reached. Returns undefined if the command ends first. */
async function forwardWhenReachable(
  { output, readingSignal: signal }: CommandContext,
  forwarder: Forwarder,
  event: Event,
): Promise<Forwarded | undefined> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await forwarder.forward(event, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (attempt === 0)
        output.note(
          `The receiver does not answer (${printable(fetchFault(error))}). Retrying until it answers …`,
        );
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS);
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

function show({ output }: CommandContext, event: Event, { status, reply, durationMs }: Forwarded): void {
  output.result({ event, status, durationMs: Math.round(durationMs), reply }, () => {
    const isSuccess = status >= 200 && status < 300;
    const code = output.styled(isSuccess ? 'good' : 'bad', String(status));
    const time = output.styled('quiet', new Date().toISOString().slice(11, 19));
    const line = `${time}  ${code}  ${event.type.padEnd(18)} ${summary(event)}  ${output.styled('quiet', duration(durationMs))}`;
    return isSuccess || reply === '' ? line : `${line}\n          ${excerpt(reply, 200)}`;
  });
}
