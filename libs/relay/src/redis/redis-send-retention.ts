import { type AccountKeys, type RedisClient, RedisScript } from '#platform';
import { claimField } from './redis-send-claims.js';
import { lastingIndexes, sendIndex } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import { boundMessages, isUndecided, type SendOrder, type SendRecord } from '../send/send-record.js';

const MOST_TRIMMED = 500;

/**
 * Removes finished sends with all that is kept of them, but for those that changed since they were read.
 * KEYS: finished, confirms, claims. ARGV: prefix of send keys, prefix of awaiting keys, ids of sends that are gone, then
 * each send as JSON. Answers the ids of those that it removed.
 */
const trimSends = new RedisScript(`
local finished, confirms, claims = KEYS[1], KEYS[2], KEYS[3]
for _, id in ipairs(cjson.decode(ARGV[3])) do redis.call('ZREM', finished, id) end
local removed = {}
for i = 4, #ARGV do
  local send = cjson.decode(ARGV[i])
  local key = ARGV[1] .. send.id
  if redis.call('HGET', key, 'revision') == send.revision then
    redis.call('DEL', key)
    redis.call('ZREM', finished, send.id)
    redis.call('ZREM', confirms, send.id)
    redis.call('ZREM', ARGV[2] .. send.recipient, send.id)
    for _, set in ipairs(send.sets) do redis.call('ZREM', set, send.id) end
    for _, claim in ipairs(send.claims) do redis.call('HDEL', claims, claim) end
    removed[#removed + 1] = send.id
  end
end
return removed
`);

/**
 * Puts sends that earlier builds took for finished with the undecided ones, but for those that changed since they were read.
 * KEYS: finished, undecided. ARGV: prefix of send keys, (id, revision)….
 */
const setApart = new RedisScript(`
for i = 2, #ARGV, 2 do
  local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if at and redis.call('HGET', ARGV[1] .. ARGV[i], 'revision') == ARGV[i + 1] then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('ZADD', KEYS[2], 'NX', at, ARGV[i])
  end
end
return 1
`);

/**
 * Removes finished sends, the oldest first, a bounded number at a time: those finished before `oldest`, in ms since 1970
 * by Redis' clock, and as many as there are more than `maxCount`. The orders that are gone.
 */
export async function trimFinishedSends(
  redis: RedisClient,
  keys: AccountKeys,
  oldest: number,
  maxCount: number,
): Promise<SendOrder[]> {
  const excess = await excessOf(redis, keys, maxCount);
  const heads = await redis.zrange(keys('finished'), '0', String(MOST_TRIMMED - 1), 'WITHSCORES');
  const ids: string[] = [];
  for (let i = 0; i < heads.length; i += 2) {
    if (i / 2 < excess || Number(heads[i + 1]) < oldest) ids.push(heads[i] ?? '');
  }
  if (ids.length === 0) return [];
  const found = await readSendRecords(redis, keys, ids);
  const undecided = found.filter(({ state }) => isUndecided(state));
  if (undecided.length > 0)
    await setApart.run(
      redis,
      [keys('finished'), keys('sends', 'undecided')],
      [keys('send', ''), ...undecided.flatMap(({ order, state }) => [order.id, state.revision])],
    );
  const records = found.filter(({ state }) => !isUndecided(state));
  const removed = (await trimSends.run(
    redis,
    [keys('finished'), keys('confirms'), keys('claims')],
    [
      keys('send', ''),
      keys('awaiting', ''),
      // With the ids whose sends are gone already: they would be met again for ever.
      JSON.stringify(ids.filter((id) => !found.some(({ order }) => order.id === id))),
      ...records.map(({ order, state }) =>
        JSON.stringify({
          ...{ id: order.id, revision: String(state.revision), recipient: order.phoneNumber },
          claims: boundMessages(state).map(claimField),
          sets: [...lastingIndexes(keys, order), sendIndex.status(keys, state.status)],
        }),
      ),
    ],
  )) as string[];
  const gone = new Set(removed);
  return records.flatMap(({ order }) => (gone.has(order.id) ? [order] : []));
}

/** Undecided sends that are too many, the oldest first, a bounded number at a time, where no finished one is left. */
export async function undecidedInExcess(
  redis: RedisClient,
  keys: AccountKeys,
  maxCount: number,
): Promise<SendRecord[]> {
  const excess = await excessOf(redis, keys, maxCount);
  if (excess <= 0 || (await redis.zcard(keys('finished'))) > 0) return [];
  const ids = await redis.zrange(keys('sends', 'undecided'), '0', String(Math.min(excess, MOST_TRIMMED) - 1));
  const records = await readSendRecords(redis, keys, ids);
  // What an earlier build brought to its end beside this one stands there still.
  const undecided = records.filter(({ state }) => isUndecided(state));
  const left = new Set(undecided.map(({ order }) => order.id));
  const strays = ids.filter((id) => !left.has(id));
  if (strays.length > 0) await redis.zrem(keys('sends', 'undecided'), ...strays);
  return undecided;
}

async function excessOf(redis: RedisClient, keys: AccountKeys, maxCount: number): Promise<number> {
  const [finished, undecided] = await Promise.all([
    redis.zcard(keys('finished')),
    redis.zcard(keys('sends', 'undecided')),
  ]);
  return finished + undecided - maxCount;
}
