import { createHash } from 'node:crypto';
import { type AccountKeys, LuaScript, type RedisClient } from '#platform';
import type { SendOrder } from '../send/send-record.js';
import type { SendStatus } from '../send/send.js';

/** Maximum number of sends that are examined for one page. */
const MAX_EXAMINED = 2_000;

const listSendsScript = LuaScript.from(import.meta.url, 'lua/list-sends.lua');

/**
 * Keys of the sorted sets that list an account's sends in the order in which they were created. Each new send gets
 * the account's next number, which is its score in every set. The size of the set of a status is the number of sends
 * with that status.
 */
export const sendIndexRedisKeys = {
  /** Key of the counter of created sends. The value of the counter is the number of the newest send. */
  lastNumber: (keys: AccountKeys): string => keys('sends', 'places'),
  all: (keys: AccountKeys): string => keys('sends', 'all'),
  status: (keys: AccountKeys, status: SendStatus): string => keys('sends', 'status', status),
  recipient: (keys: AccountKeys, phoneNumber: string): string => keys('sends', 'to', phoneNumber),
  /** Key of the set of the sends with a caller's reference. The reference is hashed, because it may be any text. */
  reference: (keys: AccountKeys, reference: string): string =>
    keys('sends', 'reference', createHash('sha256').update(reference).digest('hex')),
};

/** Returns the keys of the sorted sets that contain a send as long as it is stored. */
export function redisIndexKeysOfStoredSend(
  keys: AccountKeys,
  { phoneNumber, reference }: Pick<SendOrder, 'phoneNumber' | 'reference'>,
): string[] {
  return [
    sendIndexRedisKeys.all(keys),
    sendIndexRedisKeys.recipient(keys, phoneNumber),
    ...(reference === undefined ? [] : [sendIndexRedisKeys.reference(keys, reference)]),
  ];
}

/**
 * Returns the key of the set of the sends that count towards a caller's quota. The set may also contain finished
 * sends. The holder is hashed, because it may be any text.
 */
export function sendQuotaRedisKey(keys: AccountKeys, holder: string): string {
  return keys('sends', 'quota', createHash('sha256').update(holder).digest('hex'));
}

/**
 * Keys of the sorted sets about an account's lanes (recipients' queues of sends), under the names that the Lua
 * scripts use.
 */
export interface LaneKeys {
  /** Sorted set of recipients; the score is the time at which their lane is due. */
  lanesDue: string;
  /** Sorted set of the sends in all lanes; the score is the time at which a send joined its lane. */
  lanesSince: string;
  /** Sorted set of recipients; the score is the number of sends in their lane. */
  laneDepths: string;
}

/** Returns the keys of the sorted sets about an account's lanes. */
export function laneRedisKeys(keys: AccountKeys): LaneKeys {
  return {
    lanesDue: keys('lanes', 'due'),
    lanesSince: keys('lanes', 'since'),
    laneDepths: keys('lanes', 'depths'),
  };
}

/** A page of ids of sends. */
export interface SendIdPage {
  ids: string[];
  /** Number of each send (see {@link sendIndexRedisKeys}), in the order of {@link ids}. */
  numbers: number[];
  /** Number before which the next page begins. Absent on the last page. */
  next?: number;
}

/** Limits of a page of {@link readSendIds}. */
export interface SendIdPageLimits {
  count: number;
  /** Maximum size of the sends as stored, in bytes. The page has at least one send, however large. */
  size?: number;
}

/**
 * Maximum size of the sends on a page, in bytes. Without this limit, a few callers that read pages of long texts
 * could use up the memory of the process.
 */
export const MAX_SEND_PAGE_SIZE = 4_000_000;

/**
 * Reads a page of the ids of the sends that are in all of the given sets, the newest first. If few of the examined
 * sends match, or the sends are large, the page is shorter than requested.
 * @param sets keys of sets from {@link sendIndexRedisKeys}
 * @param before number before which the page begins: `next` of the page before
 */
export async function readSendIds(
  redis: RedisClient,
  keys: AccountKeys,
  sets: readonly string[],
  { count, size }: SendIdPageLimits,
  before?: number,
): Promise<SendIdPage> {
  const reply = await listSendsScript.run(
    redis,
    { sets },
    {
      before: before ?? '',
      limit: count,
      maxExamined: MAX_EXAMINED,
      maxSize: size ?? '',
      sendPrefix: keys('send', ''),
    },
  );
  const { next, entries } = reply as { next: string; entries: string[] };
  return {
    ids: entries.filter((_, i) => i % 2 === 0),
    numbers: entries.filter((_, i) => i % 2 === 1).map(Number),
    ...(next === '' ? {} : { next: Number(next) }),
  };
}
