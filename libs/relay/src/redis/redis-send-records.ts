import type { AccountKeys, RedisClient } from '#platform';
import type { SendOrder, SendRecord, SendState } from '../send/send-record.js';

/** Returns the records of the sends with these ids, in the same order. Leaves out sends that do not exist. */
export async function readSendRecords(
  redis: RedisClient,
  keys: AccountKeys,
  ids: readonly string[],
): Promise<SendRecord[]> {
  const found = await Promise.all(
    ids.map(async (id) => redis.hmget(keys('send', id), 'order', 'state', 'revision')),
  );
  return found.flatMap(([order, state, revision]) =>
    order == null || state == null ? [] : [parseSendRecord(order, state, revision)],
  );
}

/** Parses the stored form of a send. Validation is not needed, because only the relay's store writes these values. */
export function parseSendRecord(
  order: string,
  state: string,
  revision: string | null | undefined,
): SendRecord {
  const parsed = JSON.parse(state) as SendState;
  return { order: JSON.parse(order) as SendOrder, state: { ...parsed, revision: Number(revision) } };
}
