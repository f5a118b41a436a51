import { createHash } from 'node:crypto';
import type { AccountKeys } from '#platform';
import type { SendOrder } from '../send/send-record.js';
import type { SendStatus } from '../send/send.js';

/**
 * Keys of sorted sets that list sends in the order of their acceptance. Each send gets the account's next number, which
 * is its score in every set. The size of a status's set is the number of sends in that status.
 */
export const sendIndex = {
  /** Counter of accepted sends: the number of the last send. */
  lastNumber: (keys: AccountKeys): string => keys('sends', 'places'),
  all: (keys: AccountKeys): string => keys('sends', 'all'),
  status: (keys: AccountKeys, status: SendStatus): string => keys('sends', 'status', status),
  recipient: (keys: AccountKeys, phoneNumber: string): string => keys('sends', 'to', phoneNumber),
  /** The reference is hashed, because it may be any text. */
  reference: (keys: AccountKeys, reference: string): string =>
    keys('sends', 'reference', createHash('sha256').update(reference).digest('hex')),
};

/** Returns the keys of the sets that list a send until it is removed. */
export function lastingIndexes(keys: AccountKeys, { phoneNumber, reference }: SendOrder): string[] {
  return [
    sendIndex.all(keys),
    sendIndex.recipient(keys, phoneNumber),
    ...(reference === undefined ? [] : [sendIndex.reference(keys, reference)]),
  ];
}

/** Keys of the indexes of an account's lanes, by the names that scripts give them. */
export interface LaneKeys {
  /** Sorted set of recipients by when their lane is due. */
  lanesDue: string;
  /** Sorted set of sends by when they joined their lane. */
  lanesSince: string;
  /** Sorted set of recipients by the number of sends in their lane. */
  laneDepths: string;
}

export function laneKeys(keys: AccountKeys): LaneKeys {
  return {
    lanesDue: keys('lanes', 'due'),
    lanesSince: keys('lanes', 'since'),
    laneDepths: keys('lanes', 'depths'),
  };
}
