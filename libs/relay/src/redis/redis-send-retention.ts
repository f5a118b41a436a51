import { rowRedisKeys } from '#conversations';
import { type AccountKeys, LuaScript, type RedisClient } from '#platform';
import { messageBindingRedisHashField } from './redis-message-bindings.js';
import { redisIndexKeysOfStoredSend, sendIndexRedisKeys } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import {
  boundMessagesOf,
  hasLeftLaneWithUncertainOutcome,
  type SendOrder,
  type SendRecord,
} from '../send/send-record.js';

/** Maximum number of sends that one call of a function of this file examines. */
const MAX_TRIMMED = 500;

const trimSendsScript = LuaScript.from(import.meta.url, 'lua/trim-sends.lua');

const moveUndecidedScript = LuaScript.from(import.meta.url, 'lua/move-undecided.lua');

/**
 * Removes sends that finished before `oldest`. Also removes finished sends while more than `maxCount` finished,
 * accepted and unknown sends are stored. Removes the oldest first, up to a maximum number per call. Returns the
 * {@link SendOrder} of each removed send.
 * @param limits `oldest` in milliseconds since 1970 by Redis' clock; `rowsKept`: `on` if Tidings keeps the list of
 * conversations, otherwise `off`
 */
export async function trimFinishedSends(
  redis: RedisClient,
  keys: AccountKeys,
  limits: { oldest: number; maxCount: number; rowsKept: 'on' | 'off' },
): Promise<SendOrder[]> {
  const { oldest, maxCount, rowsKept } = limits;
  const excess = await excessOf(redis, keys, maxCount);
  const oldestEntries = await redis.zrange(keys('finished'), '0', String(MAX_TRIMMED - 1), 'WITHSCORES');
  const ids: string[] = [];
  for (let i = 0; i < oldestEntries.length; i += 2) {
    if (i / 2 < excess || Number(oldestEntries[i + 1]) < oldest) ids.push(oldestEntries[i] ?? '');
  }
  if (ids.length === 0) return [];
  const found = await readSendRecords(redis, keys, ids);
  const undecided = found.filter(({ state }) => hasLeftLaneWithUncertainOutcome(state));
  if (undecided.length > 0)
    await moveUndecidedScript.run(
      redis,
      { finished: keys('finished'), undecided: keys('sends', 'undecided') },
      {
        sendPrefix: keys('send', ''),
        sends: undecided.flatMap(({ order, state }) => [order.id, state.revision]),
      },
    );
  const records = found.filter(({ state }) => !hasLeftLaneWithUncertainOutcome(state));
  const removed = (await trimSendsScript.run(
    redis,
    { finished: keys('finished'), confirms: keys('confirms'), claims: keys('claims'), ...rowRedisKeys(keys) },
    {
      sendPrefix: keys('send', ''),
      awaitingPrefix: keys('awaiting', ''),
      rowsKept,
      // If a send no longer exists, its id is also removed from the sorted set of finished sends.
      missingIds: JSON.stringify(ids.filter((id) => !found.some(({ order }) => order.id === id))),
      sends: records.map(({ order, state }) =>
        JSON.stringify({
          ...{ id: order.id, revision: String(state.revision), recipient: order.phoneNumber },
          claims: boundMessagesOf(state).map(messageBindingRedisHashField),
          sets: [...redisIndexKeysOfStoredSend(keys, order), sendIndexRedisKeys.status(keys, state.status)],
        }),
      ),
    },
  )) as string[];
  const gone = new Set(removed);
  return records.flatMap(({ order }) => (gone.has(order.id) ? [order] : []));
}

/**
 * Returns the accepted and unknown sends in excess of `maxCount`, the oldest first, up to a maximum number per call.
 * Returns none while there are finished sends, because finished sends are removed first.
 */
export async function readExcessAcceptedAndUnknownSends(
  redis: RedisClient,
  keys: AccountKeys,
  maxCount: number,
): Promise<SendRecord[]> {
  const excess = await excessOf(redis, keys, maxCount);
  if (excess <= 0 || (await redis.zcard(keys('finished'))) > 0) return [];
  const ids = await redis.zrange(keys('sends', 'undecided'), '0', String(Math.min(excess, MAX_TRIMMED) - 1));
  const records = await readSendRecords(redis, keys, ids);
  // The Redis set of accepted and unknown sends may also contain finished sends that an earlier build did not remove
  // from the set.
  const undecided = records.filter(({ state }) => hasLeftLaneWithUncertainOutcome(state));
  const left = new Set(undecided.map(({ order }) => order.id));
  const finishedIds = ids.filter((id) => !left.has(id));
  if (finishedIds.length > 0) await redis.zrem(keys('sends', 'undecided'), ...finishedIds);
  return undecided;
}

async function excessOf(redis: RedisClient, keys: AccountKeys, maxCount: number): Promise<number> {
  const [finished, undecided] = await Promise.all([
    redis.zcard(keys('finished')),
    redis.zcard(keys('sends', 'undecided')),
  ]);
  return finished + undecided - maxCount;
}
