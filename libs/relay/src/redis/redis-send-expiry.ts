import type { AccountKeys, RedisClient } from '#platform';
import type { ExpirableSend } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';
import { readExpirableSendsScript, removeSendExpiryTimesScript } from './redis-relay-scripts.js';
import { parseSendRecord } from './redis-send-records.js';

/**
 * Implements `RelayStore.expirableSends`. Also removes the expiry times of sends that can no longer expire.
 */
export async function readExpirableSends(
  redis: RedisClient,
  keys: AccountKeys,
  maxAgeMs: number,
  count: number,
): Promise<ExpirableSend[]> {
  const reply = await readExpirableSendsScript.run(
    redis,
    { expiring: keys('sends', 'expiring'), lanesSince: keys('lanes', 'since') },
    { maxAge: maxAgeMs, maxCount: count, sendPrefix: keys('send', '') },
  );
  const { now, sends } = reply as {
    now: string;
    sends: [id: string, order: string, state: string, revision: string][];
  };
  const ending: ExpirableSend[] = [];
  const others: string[] = [];
  for (const [id, order, state, revision] of sends) {
    const record = order === '' ? undefined : parseSendRecord(order, state, revision);
    if (record?.state.status === 'queued') ending.push({ record, now: Number(now) });
    else if (record?.state.status !== 'scheduled') others.push(id, revision);
  }
  if (others.length > 0)
    await removeSendExpiryTimesScript.run(
      redis,
      { expiring: keys('sends', 'expiring') },
      { sendPrefix: keys('send', ''), sends: others },
    );
  return ending;
}

/**
 * Returns the expiry time that a transition stores for a send: the send's `expiresAt`, 'never' if a send with the new
 * status cannot expire, or '' if the stored expiry time does not change.
 */
export function expiryTimeToStore({ order, state }: SendRecord): number | 'never' | '' {
  if (order.expiresAt === undefined || state.status === 'scheduled') return '';
  return state.status === 'queued' ? order.expiresAt : 'never';
}
