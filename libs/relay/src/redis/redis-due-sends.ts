import type { AccountKeys, RedisClient } from '#platform';
import type { SendRecord } from '../send/send-record.js';
import { readDueSendsScript } from './redis-relay-scripts.js';
import { parseSendRecord } from './redis-send-records.js';

/** A member of a sorted set that is due, and its send. */
export interface DueSend {
  member: string;
  id: string;
  /** Undefined if the send no longer exists. */
  record: SendRecord | undefined;
}

type DueSendFields = [member: string, id: string, order: string, state: string, revision: string];

/**
 * Returns at most `count` members of a sorted set that are due, each with the record of its send if the send still
 * exists.
 * @param dueKey key of the sorted set
 */
export async function readDueSends(
  redis: RedisClient,
  keys: AccountKeys,
  dueKey: string,
  count: number,
): Promise<DueSend[]> {
  const reply = await readDueSendsScript.run(
    redis,
    { due: dueKey },
    { maxCount: count, sendPrefix: keys('send', '') },
  );
  return (reply as DueSendFields[]).map(([member, id, order, state, revision]) => ({
    ...{ member, id },
    record: order === '' ? undefined : parseSendRecord(order, state, revision),
  }));
}
