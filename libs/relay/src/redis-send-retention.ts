import { type AccountKeys, type RedisClient, RedisScript } from '#platform';
import { claimField } from './redis-send-claims.js';
import { lastingIndexes, sendIndex } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import { boundMessages, type SendOrder } from './send-record.js';

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
 * Removes finished sends, the oldest first, a bounded number at a time: those finished before `oldest`, in ms since 1970
 * by Redis' clock, and as many as there are more than `maxCount`. The orders that are gone.
 */
export async function trimFinishedSends(
  redis: RedisClient,
  keys: AccountKeys,
  oldest: number,
  maxCount: number,
): Promise<SendOrder[]> {
  const excess = (await redis.zcard(keys('finished'))) - maxCount;
  const heads = await redis.zrange(keys('finished'), '0', String(MOST_TRIMMED - 1), 'WITHSCORES');
  const ids: string[] = [];
  for (let i = 0; i < heads.length; i += 2) {
    if (i / 2 < excess || Number(heads[i + 1]) < oldest) ids.push(heads[i] ?? '');
  }
  if (ids.length === 0) return [];
  const records = await readSendRecords(redis, keys, ids);
  const removed = (await trimSends.run(
    redis,
    [keys('finished'), keys('confirms'), keys('claims')],
    [
      keys('send', ''),
      keys('awaiting', ''),
      // With the ids whose sends are gone already: they would be met again for ever.
      JSON.stringify(ids.filter((id) => !records.some(({ order }) => order.id === id))),
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
