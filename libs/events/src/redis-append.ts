import { createHash, randomBytes } from 'node:crypto';
import type { EventType } from './event-type.js';
import type { AccountKeys } from '#platform';
import type { NewEvent } from './event.js';

/**
 * How other scripts record events in the same step as the state they tell of: their source starts with
 * {@link APPEND_EVENTS}, their first keys are {@link logKeys}, and their last arguments are {@link eventArguments},
 * which `append_events(first)` reads from the index `first` on.
 *
 * The log is a stream; an index from event id to place finds single events and refuses an id that is already recorded;
 * the counters are the sequences, the epoch, and the places of the newest, the trimmed and the dispatched.
 *
 * That the log grew is published, for those who wait. A Redis user who may not publish records events nonetheless.
 */
export const APPEND_EVENTS = `
local LOG, INDEX, COUNTERS = KEYS[1], KEYS[2], KEYS[3]

local function append_events(first)
  local account, candidate = ARGV[first], ARGV[first + 1]
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if redis.call('HSETNX', COUNTERS, 'epoch', candidate) == 1 then
    redis.call('HSET', COUNTERS, 'installedAt', string.format('%d', now))
  end
  local epoch = redis.call('HGET', COUNTERS, 'epoch')
  local grown = false
  for i = first + 2, #ARGV, 5 do
    local type, contact, subject, revision, data = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local id = 'evt_' .. redis.sha1hex(table.concat({account, epoch, subject, type, revision}, '\\n'))
    if redis.call('HEXISTS', INDEX, id) == 0 then
      local counter = 'account'
      if string.find(type, '^message%.') or string.find(type, '^contact%.') then counter = 'contact:' .. contact end
      local sequence = redis.call('HINCRBY', COUNTERS, counter, 1)
      local place = redis.call('XADD', LOG, '*', 'i', id, 't', type, 'c', contact, 's', sequence,
        'at', string.format('%d', now), 'd', data)
      redis.call('HSET', INDEX, id, place)
      redis.call('HSET', COUNTERS, 'last', place)
      grown = true
    end
  end
  if grown then redis.pcall('PUBLISH', LOG .. ':grown', '') end
end
`;

/** Where {@link APPEND_EVENTS} publishes that an account's log grew. */
export function grownChannel(keys: AccountKeys): string {
  return keys('events', 'grown');
}

/** The id that the script gives to a change. */
export function eventId(
  account: string,
  epoch: string,
  subject: string,
  type: EventType,
  revision: string | number,
): string {
  return `evt_${createHash('sha1').update([account, epoch, subject, type, revision].join('\n')).digest('hex')}`;
}

/** The first three keys of every script that includes {@link APPEND_EVENTS}. */
export function logKeys(keys: AccountKeys): [log: string, index: string, counters: string] {
  return [keys('events'), keys('events', 'index'), keys('events', 'counters')];
}

/** The last arguments of every script that includes {@link APPEND_EVENTS}. */
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
