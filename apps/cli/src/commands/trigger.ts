import { Argument, type Command } from 'commander';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { CommandFault } from '../failure.js';
import { ExitCode } from '../exit-code.js';
import { printable } from '../output/printable.js';

interface Options {
  simulator: string;
  contact?: string;
  phoneNumber?: string;
  text: string;
}

/** What the simulator does so that the gateway emits the event. */
interface Trigger {
  verb: string;
  body: (options: Options) => object;
  /** When the gateway emits the event. The text completes a sentence. */
  when?: string;
}

const DEFAULT_PHONE_NUMBER = '+15551230001';
const TIMEOUT_MS = 10_000;

const TRIGGERS = {
  'message.received': { verb: 'messages', body: (options) => ({ ...ownerOf(options), text: options.text }) },
  'message.sent': {
    verb: 'messages',
    body: (options) => ({ ...ownerOf(options), text: options.text, direction: 'outbound' }),
  },
  'message.read': { verb: 'messages/read', body: ({ contact }) => ({ contactId: required(contact) }) },
  'contact.created': {
    verb: 'contacts',
    body: ({ phoneNumber }) => (phoneNumber === undefined ? { count: 1 } : { phoneNumber }),
    when: 'once it has read the contact list, by default every 30 seconds',
  },
  'contact.deleted': {
    verb: 'contacts/delete',
    body: ({ contact }) => ({ contactId: required(contact) }),
    when: 'once the contact is missing from two contact lists that it read at least 60 seconds apart: by default, 1 to 2 minutes from now',
  },
} as const satisfies Readonly<Record<string, Trigger>>;

type TriggerName = keyof typeof TRIGGERS;

/** Adds `trigger`, for developing against the simulator. */
export function addTrigger(program: Command, terminal: Terminal): void {
  program
    .command('trigger')
    .addArgument(new Argument('<event>', 'event that the gateway will emit').choices(Object.keys(TRIGGERS)))
    .description('change something in the simulator, so that the gateway emits an event')
    .option(
      '--simulator <url>',
      'address of the simulator (TIDINGS_SIMULATOR_URL)',
      defaultSimulator(terminal),
    )
    .option('--contact <id>', 'contact that the event is about')
    .option(
      '--phone-number <number>',
      `phone number of the contact (default: ${DEFAULT_PHONE_NUMBER}; for contact.created, an unused number)`,
    )
    .option('--text <text>', 'text of the message', 'Hello from tidings trigger')
    .action(action(terminal, trigger));
}

async function trigger(context: CommandContext, name: TriggerName, options: Options): Promise<undefined> {
  const { verb, body, when = 'once it has read the contact' }: Trigger = TRIGGERS[name];
  const url = `${options.simulator.replace(/\/+$/, '')}/_simulator/${verb}`;
  const request = JSON.stringify(body(options));
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: request,
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
  } catch {
    throw new CommandFault(
      `the simulator does not answer at ${options.simulator}; start it with npm start, or set --simulator`,
      ExitCode.unreachable,
    );
  }
  const answer: unknown = await response.json().catch(() => ({}));
  const result = typeof answer === 'object' && answer !== null ? answer : {};
  if (!response.ok) {
    const { message = response.statusText } = result as { message?: string };
    throw new CommandFault(printable(`the simulator rejected the request: ${message}`), ExitCode.failure);
  }
  const { ids } = result as { ids?: unknown };
  const isUnchanged = Array.isArray(ids) && ids.length === 0;
  context.output.result(
    result,
    isUnchanged
      ? 'Nothing changed: the contact has no unread message from this account.'
      : `Done. The gateway emits ${name} ${when}.`,
  );
}

function ownerOf({ contact, phoneNumber }: Options): object {
  return contact === undefined
    ? { phoneNumber: phoneNumber ?? DEFAULT_PHONE_NUMBER }
    : { contactId: contact };
}

function required(contact: string | undefined): string {
  if (contact === undefined) throw new CommandFault('name the contact with --contact');
  return contact;
}

function defaultSimulator({ environment }: Terminal): string {
  // `TIDINGS_CHECKOUT_SIMULATOR` is the address of the simulator that `npm start` runs. The checkout's own `tidings`
  // sets it.
  const given = environment['TIDINGS_SIMULATOR_URL'] || environment['TIDINGS_CHECKOUT_SIMULATOR'];
  return given || 'http://127.0.0.1:4010';
}
