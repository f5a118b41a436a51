import { createHash, randomBytes } from 'node:crypto';
import type { EventType } from './event-type.js';
import type { AccountKeys } from '#platform';
import type { NewEvent } from './event.js';

/**
 * Keys of an account's log, by the names that scripts give them: the stream of the events; the hash from an event's id to
 * its position; and the hash of the sequences, the epoch, and the positions of the newest, the trimmed and the dispatched
 * event.
 */
export type LogKeys = Readonly<Record<'log' | 'logIndex' | 'logCounters', string>>;

/** Channel on which Redis publishes that an account's log grew, for processes that wait for events. */
export function logGrowthChannel(keys: AccountKeys): string {
  return keys('events', 'grown');
}

/** Returns the id that `append-events.lua` gives to a change. */
export function eventId(
  account: string,
  epoch: string,
  subject: string,
  type: EventType,
  revision: string | number,
): string {
  return `evt_${createHash('sha1').update([account, epoch, subject, type, revision].join('\n')).digest('hex')}`;
}

/** Keys of every script that includes `append-events.lua`. */
export function logKeys(keys: AccountKeys): LogKeys {
  return { log: keys('events'), logIndex: keys('events', 'index'), logCounters: keys('events', 'counters') };
}

/** Last arguments of every script that includes `append-events.lua`: the events that it appends. */
export function eventArguments(account: string, events: readonly NewEvent[]): (string | number)[] {
  const epoch = randomBytes(8).toString('hex');
  return [
    account,
    epoch,
    ...events.flatMap(({ type, contactId = '', subject, revision, data }) => [
      type,
      contactId,
      subject,
      revision,
      JSON.stringify(data),
    ]),
  ];
}
