import type { Command } from 'commander';
import type { Event, EventList } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { excerpt } from '../output/printable.js';
import type { Output } from '../output/output.js';
import { collect, DEFAULT_LIMIT, MAX_LIMIT, wholeNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { openStream } from './opened-stream.js';
import { addShow } from './show-and-delete.js';

interface Options {
  follow?: boolean;
  after?: string;
  types?: string[];
  contact?: string;
  limit: number;
}

/** Maximum number of events of one request. */
const PAGE = 100;

/** Adds `events`. */
export function addEvents(program: Command, terminal: Terminal): void {
  const events = program
    .command('events')
    .description('list or follow the events of the account, or show one');
  addDefaultList(events, 'list events, oldest first')
    .option('-f, --follow', 'follow new events until Ctrl-C, from now on unless --after is given')
    .option('--after <cursor>', 'only events after this cursor; `now` selects only new events')
    .option('--types <types>', 'only these types, for example message.*,send.failed', collect)
    .option('--contact <id>', 'only events of this contact')
    .option(
      '--limit <count>',
      'maximum number of events without --follow',
      wholeNumber(1, MAX_LIMIT),
      DEFAULT_LIMIT,
    )
    .action(action(terminal, listEvents));
  addShow(events, terminal, '/v1/events', 'show an event with its data');
}

async function listEvents(context: CommandContext, options: Options): Promise<undefined> {
  if (options.follow === true) {
    await follow(context, options);
    return;
  }
  await context.output.list(
    pages(context, options),
    [
      { title: 'AT', value: ({ timestamp }) => timestamp },
      { title: 'TYPE', value: ({ type }) => type },
      { title: 'CONTACT', value: contactOf },
      { title: 'WHAT', value: (event) => summary(event) },
      { title: 'ID', value: ({ id }) => id },
    ],
    options.limit,
  );
}

/** Yields the stored events. Unlike the event stream, it ends. */
async function* pages(
  context: CommandContext,
  { after, types, contact, limit }: Options,
): AsyncGenerator<Event, void, void> {
  let cursor = after;
  for (;;) {
    const query = new URLSearchParams({ limit: String(Math.min(limit + 1, PAGE)) });
    if (cursor !== undefined) query.set('after', cursor);
    if (types !== undefined) query.set('types', types.join(','));
    if (contact !== undefined) query.set('contactId', contact);
    const page = await context.read<EventList>(`/v1/events?${query.toString()}`, 'events');
    yield* page.events;
    if (!page.hasMore) return;
    cursor = page.next;
  }
}

async function follow(context: CommandContext, { after = 'now', types, contact }: Options): Promise<void> {
  const { output } = context;
  const { stream, start } = await openStream(context, { after, types, contact });
  try {
    for await (const event of stream) printEvent(output, event);
  } finally {
    noteCursor(output, stream.cursor ?? start);
  }
}

/** Prints the cursor at which to continue to standard error. */
export function noteCursor(output: Output, after: string): void {
  if (output.isJson) output.noteJson({ after });
  else output.note(`Continue with --after ${after}`);
}

/** Prints an event on one line. */
function printEvent(output: Output, event: Event): void {
  const { timestamp, type } = event;
  output.result(event, () => {
    const time = output.styled('quiet', timestamp.slice(11, 23));
    return `${time}  ${output.styled('strong', type.padEnd(18))} ${summary(event)}`;
  });
}

/** Says in a few words what an event is about. */
export function summary(event: Event): string {
  const data: Readonly<Record<string, unknown>> = { ...event.data };
  const subject = asRecord(data['message']) ?? asRecord(data['send']) ?? asRecord(data['contact']) ?? data;
  const text = [subject['message'], subject['text'], subject['name'], data['reason']].find(
    (value): value is string => typeof value === 'string' && value !== '',
  );
  const id = typeof subject['id'] === 'string' ? subject['id'] : '';
  return [...new Set([contactOf(event), id]), text === undefined ? '' : `"${excerpt(text, 60)}"`]
    .filter((part) => part !== '')
    .map((part) => excerpt(part, 80))
    .join('  ');
}

/** Returns the contact of an event, or an empty text if it is about the account. */
function contactOf(event: Event): string {
  return 'contactId' in event ? event.contactId : '';
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
