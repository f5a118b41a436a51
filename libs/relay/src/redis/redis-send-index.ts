import { createHash } from 'node:crypto';
import type { AccountKeys } from '#platform';
import type { SendOrder } from '../send/send-record.js';
import type { SendStatus } from '../send/send.js';

/**
 * Keys of the sorted sets that list an account's sends in the order in which they were created. Each new send gets the
 * account's next number, which is its score in every set. The size of the set of a status is the number of sends with
 * that status.
 */
export const sendIndexRedisKeys = {
  /** Counter of created sends. Its value is the number of the newest send. */
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
 * Keys of the sorted sets about an account's lanes (recipients' queues of sends), under the names that the Lua scripts
 * use.
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
