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
  lastNumber: (keys: AccountKeys): string => keys('sends', 'places'),
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

/** Keys of all lanes of an account, by the names that scripts give them. */
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
