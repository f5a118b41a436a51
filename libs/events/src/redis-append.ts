import { createHash, randomBytes } from 'node:crypto';
import type { EventType } from './event-type.js';
import type { AccountKeys } from '#platform';
import type { NewEvent } from './event.js';

/**
 * Redis keys of an account's event log, by the names that Lua scripts use for them.
 *
 * - `log`: stream of the events.
 * - `logIndex`: hash that maps the id of each event to its position.
 * - `logCounters`: hash that contains the last sequence of each contact and of the account, the epoch, the time at
 *   which the log was created, and the positions of the newest event, of the last removed event and of the last
 *   dispatched event.
 */
export type LogKeys = Readonly<Record<'log' | 'logIndex' | 'logCounters', string>>;

/** Returns the channel on which Redis publishes that an account's log has grown. */
export function channelOfNewEvents(keys: AccountKeys): string {
  return keys('events', 'grown');
}

/** Returns the id of the event that reports a change. `append-events.lua` computes the same id. */
export function eventId(
  account: string,
  epoch: string,
  subject: string,
  type: EventType,
  revision: string | number,
): string {
  return `evt_${createHash('sha1').update([account, epoch, subject, type, revision].join('\n')).digest('hex')}`;
}

/** Returns the Redis keys that every script that includes `append-events.lua` needs. */
export function eventLogRedisKeys(keys: AccountKeys): LogKeys {
  return { log: keys('events'), logIndex: keys('events', 'index'), logCounters: keys('events', 'counters') };
}

/**
 * Returns the last arguments of a script that includes `append-events.lua`: the account, an epoch that is used only
 * if the script creates the log, and the events to append.
 */
export function appendEventsLuaArguments(account: string, events: readonly NewEvent[]): (string | number)[] {
  const epoch = randomBytes(8).toString('hex');
  return [
    account,
    epoch,
    ...events.flatMap(({ type, contactId = '', subject, revision, data, trace = '' }) => [
      type,
      contactId,
      subject,
      revision,
      JSON.stringify(data),
      trace,
    ]),
  ];
}
