import { rowRedisKeys } from '#conversations';
import type { AccountKeys, Clock, RedisClient } from '#platform';
import type { SendState } from '../send/send-record.js';
import { findTransitionResult } from '../send/send-transitions.js';
import { readDueSends } from './redis-due-sends.js';
import { queueScheduledSendsScript, readMsUntilSortedSetMemberDueScript } from './redis-relay-scripts.js';
import { laneRedisKeys, sendIndexRedisKeys } from './redis-send-index.js';
import { serializeSendStatusNotice } from './redis-send-status-notice.js';

/** Implements `RelayStore.promoteScheduled`. */
export async function queueDueScheduledSends(
  redis: RedisClient,
  keys: AccountKeys,
  clock: Clock,
  count: number,
): Promise<string[]> {
  const due = await readDueSends(redis, keys, keys('scheduled'), count);
  if (due.length === 0) return [];
  const steps: (string | number)[] = [];
  const invalid: [member: string, id: string, revision: string][] = [];
  for (const { member, id, record } of due) {
    const step = record === undefined ? undefined : findTransitionResult(record.state.status, 'promoted');
    if (record === undefined || step === undefined) {
      invalid.push([member, id, String(record?.state.revision ?? '')]);
      continue;
    }
    const { order, state } = record;
    const revision = state.revision + 1;
    const after: SendState = { ...state, status: step.to, revision, updatedAt: clock.now() };
    // This transition gets no id. Remove what the previous transitions stored, which would otherwise be stored again.
    delete after.step;
    delete after.statusSince;
    const notice = serializeSendStatusNotice({ order, state: after });
    steps.push(id, state.revision, order.phoneNumber, JSON.stringify(after), notice);
  }
  const reply = await queueScheduledSendsScript.run(
    redis,
    {
      scheduled: keys('scheduled'),
      statusBefore: sendIndexRedisKeys.status(keys, 'scheduled'),
      statusAfter: sendIndexRedisKeys.status(keys, 'queued'),
      ...laneRedisKeys(keys),
      rows: rowRedisKeys(keys).rows,
    },
    {
      sendPrefix: keys('send', ''),
      lanePrefix: keys('lane', ''),
      invalidMembers: JSON.stringify(invalid),
      sends: steps,
    },
  );
  return reply as string[];
}

/** Returns the time until the next scheduled send is due, in milliseconds, or undefined if no send is scheduled. */
export async function readMsUntilNextScheduledSend(
  redis: RedisClient,
  keys: AccountKeys,
): Promise<number | undefined> {
  const reply = await readMsUntilSortedSetMemberDueScript.run(redis, {
    due: keys('scheduled'),
  });
  return reply === '' ? undefined : Number(reply);
}
