import { createHash } from 'node:crypto';
import type { AccountKeys } from '#platform';
import type { SendOrder } from '../send/send-record.js';
import type { SendStatus } from '../send/send.js';

/**
 * Sorted sets that list sends by the order of their acceptance: a send's place is the account's next number, and its
 * score in each of them. How many sends stand in a status is the size of that status' set.
 */
export const sendIndex = {
  /** Counts the places. */
  places: (keys: AccountKeys): string => keys('sends', 'places'),
  all: (keys: AccountKeys): string => keys('sends', 'all'),
  status: (keys: AccountKeys, status: SendStatus): string => keys('sends', 'status', status),
  recipient: (keys: AccountKeys, phoneNumber: string): string => keys('sends', 'to', phoneNumber),
  /** References are hashed: any text may come. */
  reference: (keys: AccountKeys, reference: string): string =>
    keys('sends', 'reference', createHash('sha256').update(reference).digest('hex')),
};

/** The sets that a send is in for as long as it is kept. */
export function lastingIndexes(keys: AccountKeys, { phoneNumber, reference }: SendOrder): string[] {
  return [
    sendIndex.all(keys),
    sendIndex.recipient(keys, phoneNumber),
    ...(reference === undefined ? [] : [sendIndex.reference(keys, reference)]),
  ];
}

/** The keys of the lanes: when each is due, since when each send is in one, and how many each has. */
export function laneKeys(keys: AccountKeys): [due: string, since: string, depths: string] {
  return [keys('lanes', 'due'), keys('lanes', 'since'), keys('lanes', 'depths')];
}

/**
 * Lua: `join_lane(lane, due, since, depths, id, recipient, now)` and `leave_lane` alike, of {@link laneKeys}. Needs
 * `text`.
 */
export const LANES = `
local function join_lane(lane, due, since, depths, id, recipient, now)
  redis.call('RPUSH', lane, id)
  redis.call('ZADD', due, 'NX', text(now), recipient)
  redis.call('ZADD', since, text(now), id)
  redis.call('ZINCRBY', depths, 1, recipient)
end
local function leave_lane(lane, due, since, depths, id, recipient, now)
  redis.call('ZREM', since, id)
  if redis.call('LREM', lane, 1, id) == 0 then return end
  if redis.call('EXISTS', lane) == 1 then
    redis.call('ZADD', due, text(now), recipient)
    redis.call('ZINCRBY', depths, -1, recipient)
  else
    redis.call('ZREM', due, recipient)
    redis.call('ZREM', depths, recipient)
  end
end
-- What waits for its time, in the order of acceptance where the times are the same.
local function scheduled_as(send, id) return string.format('%016d ', redis.call('HGET', send, 'place')) .. id end
`;
