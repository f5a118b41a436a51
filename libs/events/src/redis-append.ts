import { createHash, randomBytes } from 'node:crypto';
import type { EventType } from './event-type.js';
import type { AccountKeys } from '#platform';
import type { NewEvent } from './event.js';

/**
 * Keys of an account's log, by the names that scripts give them. `log`: stream of the events. `logIndex`: hash from an
 * event's id to its position. `logCounters`: hash of the sequences, the epoch, and the positions of the newest, the
 * trimmed and the dispatched event.
 */
export type LogKeys = Readonly<Record<'log' | 'logIndex' | 'logCounters', string>>;

/** Returns the channel on which Redis publishes that an account's log has grown. */
export function channelOfNewEvents(keys: AccountKeys): string {
  return keys('events', 'grown');
}

/** Returns the id that `append-events.lua` gives to the event of a change. */
export function eventId(
  account: string,
  epoch: string,
  subject: string,
  type: EventType,
  revision: string | number,
): string {
  return `evt_${createHash('sha1').update([account, epoch, subject, type, revision].join('\n')).digest('hex')}`;
}

/** Returns the keys for scripts that include `append-events.lua`. */
export function logKeys(keys: AccountKeys): LogKeys {
  return { log: keys('events'), logIndex: keys('events', 'index'), logCounters: keys('events', 'counters') };
}

/** Returns the last arguments for scripts that include `append-events.lua`: the events to append. */
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
