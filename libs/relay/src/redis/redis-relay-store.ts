import { rowCategoryOfStatus, previewOf, rowRedisKeys } from '#conversations';
import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';
import { lastSeenRedisRunId, readRedisTime } from '#platform';
import { idempotencyRedisKey, parseIdempotencyKeyUse } from './redis-idempotency-keys.js';
import {
  readSendsAwaitingMessageScript,
  insertSendScript,
  rescheduleChecksOfAcceptedSendsScript,
  applySendTransitionScript,
} from './redis-relay-scripts.js';
import {
  messageBindingRedisHashField,
  messageBindingRedisHashValue,
  readSendsOfMessages,
} from './redis-message-bindings.js';
import { readDueSends } from './redis-due-sends.js';
import { expiryTimeToStore, readExpirableSends } from './redis-send-expiry.js';
import {
  laneRedisKeys,
  redisIndexKeysOfStoredSend,
  sendIndexRedisKeys,
  sendQuotaRedisKey,
} from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import { RedisLaneStore } from './redis-lane-store.js';
import { queueDueScheduledSends, readMsUntilNextScheduledSend } from './redis-send-schedule.js';
import { serializeSendStatusNotice } from './redis-send-status-notice.js';
import { trimFinishedSends, readExcessAcceptedAndUnknownSends } from './redis-send-retention.js';
import {
  boundSendOf,
  type BoundSend,
  type AppliedChange,
  type ExpirableSend,
  type RelayStore,
  type InsertResult,
  type NewSendOrder,
  type StateChange,
} from '../send/relay-store.js';
import { changedSend } from '../send/changed-send.js';
import type { IdempotencyKey, SendQuota } from '../send/send-service.js';
import { storageLocationOfSend } from '../send/send-transitions.js';
import {
  isAwaitingMessage,
  hasLeftLaneWithUncertainOutcome,
  MAX_REDIS_CLOCK_STEP_MS,
  type SendOrder,
  type SendRecord,
  type SendState,
  fieldsKeptAcrossTransitions,
  toPublicSend,
} from '../send/send-record.js';

const DROPPED_REASON =
  'The account has more than SEND_RETENTION_MAX sends. This send is removed, although its outcome is unknown.';

/** Time for which the sends that count towards a quota are remembered after they are due, in milliseconds. */
const QUOTA_KEPT_MS = 7 * 86_400_000;
/**
 * Stores sends in Redis, and their lanes (see {@link RedisLaneStore}). Each send is a hash. Sorted sets hold the
 * times at which sends are due.
 */
export class RedisRelayStore extends RedisLaneStore implements RelayStore {
  async insert(
    account: string,
    order: NewSendOrder,
    idempotency?: IdempotencyKey,
    quota?: SendQuota,
  ): Promise<InsertResult> {
    const keys = this.keys(account);
    const { createdAt, ...rest } = order;
    const state: Omit<SendState, 'updatedAt'> = {
      status: order.sendAt === undefined ? 'queued' : 'scheduled',
      revision: 0,
      attempts: [],
      refusals: 0,
    };
    const reply = await insertSendScript.run(
      this.redis,
      {
        send: keys('send', order.id),
        lane: keys('lane', order.phoneNumber),
        scheduled: keys('scheduled'),
        idempotency: idempotencyRedisKey(keys, idempotency?.key ?? ''),
        lastNumber: sendIndexRedisKeys.lastNumber(keys),
        expiring: keys('sends', 'expiring'),
        pollFacts: keys('polls', 'facts'),
        quota: sendQuotaRedisKey(keys, quota?.holder ?? ''),
        statusScheduled: sendIndexRedisKeys.status(keys, 'scheduled'),
        statusQueued: sendIndexRedisKeys.status(keys, 'queued'),
        statusRelaying: sendIndexRedisKeys.status(keys, 'relaying'),
        sets: [sendIndexRedisKeys.status(keys, state.status), ...redisIndexKeysOfStoredSend(keys, order)],
        ...laneRedisKeys(keys),
        ...rowRedisKeys(keys),
      },
      {
        id: order.id,
        order: JSON.stringify(rest),
        state: JSON.stringify(state),
        recipient: order.phoneNumber,
        sendAt: order.sendAt ?? '',
        fingerprint: idempotency?.fingerprint ?? '',
        idempotencyMs: idempotency?.lifetimeMs ?? '',
        owner: idempotency?.owner ?? '',
        expiresAt: order.expiresAt ?? '',
        rowsKept: this.rowsKept,
        acceptedAt: createdAt ?? '',
        run: lastSeenRedisRunId(this.redis),
        preview: this.rowsKept === 'on' ? previewOf(order.message ?? '') : '',
        notice: serializeSendStatusNotice({ order, state }),
        maxUnfinished: quota?.maxUnfinished ?? '',
        quotaKept: QUOTA_KEPT_MS,
      },
    );
    if (reply === 'quotaExceeded') return { kind: 'quotaExceeded' };
    return reply === 'new' ? { kind: 'new' } : parseIdempotencyKeyUse(String(reply));
  }

  async find(account: string, id: string): Promise<SendRecord | undefined> {
    const [record] = await this.records(account, [id]);
    return record;
  }

  async apply(account: string, record: SendRecord, change: StateChange): Promise<AppliedChange | undefined> {
    const keys = this.keys(account);
    const { order, state: before } = record;
    const { laneDueInMs, confirmInMs, claim, redisRun } = change;
    const { event, name, next } = changedSend(record, change, this.clock.now());
    const { state: after } = next;
    const { revision } = after;
    const confirm = after.status === 'accepted' ? confirmInMs : null;
    const done = await applySendTransitionScript.run(
      this.redis,
      {
        send: keys('send', order.id),
        lane: keys('lane', order.phoneNumber),
        awaiting: keys('awaiting', order.phoneNumber),
        confirms: keys('confirms'),
        scheduled: keys('scheduled'),
        finished: keys('finished'),
        claims: keys('claims'),
        statusBefore: sendIndexRedisKeys.status(keys, before.status),
        statusAfter: sendIndexRedisKeys.status(keys, after.status),
        expiring: keys('sends', 'expiring'),
        undecided: keys('sends', 'undecided'),
        ...eventLogRedisKeys(keys),
        ...laneRedisKeys(keys),
        ...rowRedisKeys(keys),
      },
      {
        id: order.id,
        revision: before.revision,
        state: JSON.stringify(after),
        recipient: order.phoneNumber,
        locationBefore: storageLocationOfSend(before.status),
        locationAfter: storageLocationOfSend(after.status),
        laneDueIn: laneDueInMs === undefined ? '' : Math.ceil(laneDueInMs),
        isAwaiting: isAwaitingMessage(after) ? 'yes' : 'no',
        confirmIn: confirm === undefined ? '' : confirm === null ? 'never' : Math.ceil(confirm),
        message: claim === undefined ? '' : messageBindingRedisHashField(claim),
        claim: messageBindingRedisHashValue(boundSendOf(order, claim?.duplicate === true)),
        nonce: name,
        run: redisRun ?? '',
        nonceBefore: before.step ?? '',
        expiresAt: expiryTimeToStore(next),
        isUndecided: hasLeftLaneWithUncertainOutcome(after) ? 'undecided' : '',
        rowsKept: this.rowsKept,
        rowCount: rowCategoryOfStatus(after.status),
        isOver: after.status === 'cancelled' ? 'over' : '',
        notice: serializeSendStatusNotice(next),
        events: appendEventsLuaArguments(
          account,
          event === undefined
            ? []
            : [
                {
                  type: event,
                  subject: `send:${order.id}`,
                  revision,
                  data: { send: toPublicSend(next) },
                  ...(order.trace === undefined ? {} : { trace: order.trace }),
                },
              ],
        ),
      },
    );
    if (done === 0) return undefined;
    return done === 2 ? { ...next, isLaneEmpty: true } : next;
  }

  async dueConfirmations(account: string, count: number): Promise<SendRecord[]> {
    const keys = this.keys(account);
    const due = await readDueSends(this.redis, keys, keys('confirms'), count);
    return due.flatMap(({ record }) => record ?? []);
  }

  async rescheduleChecksOfAcceptedSends(
    account: string,
    sends: readonly { record: SendRecord; inMs: number }[],
  ): Promise<SendRecord[]> {
    if (sends.length === 0) return [];
    const keys = this.keys(account);
    const reply = await rescheduleChecksOfAcceptedSendsScript.run(
      this.redis,
      { confirms: keys('confirms') },
      {
        sendPrefix: keys('send', ''),
        sends: sends.flatMap(({ record: { order, state }, inMs }) => [
          order.id,
          state.revision,
          Math.ceil(inMs),
        ]),
      },
    );
    const rescheduled = new Set(reply as string[]);
    return sends.flatMap(({ record }) => (rescheduled.has(record.order.id) ? [record] : []));
  }

  async expirableSends(account: string, maxAgeMs: number, count: number): Promise<ExpirableSend[]> {
    return readExpirableSends(this.redis, this.keys(account), maxAgeMs, count);
  }

  async promoteScheduled(account: string, count: number): Promise<string[]> {
    return queueDueScheduledSends(this.redis, this.keys(account), this.clock, count);
  }

  async nextScheduledInMs(account: string): Promise<number | undefined> {
    return readMsUntilNextScheduledSend(this.redis, this.keys(account));
  }

  async sendsAwaitingMessage(account: string, phoneNumber: string, count: number): Promise<SendRecord[]> {
    const keys = this.keys(account);
    const ids = await readSendsAwaitingMessageScript.run(
      this.redis,
      {
        awaiting: keys('awaiting', phoneNumber),
        lane: keys('lane', phoneNumber),
        scheduled: keys('scheduled'),
        statusScheduled: sendIndexRedisKeys.status(keys, 'scheduled'),
        ofRecipient: sendIndexRedisKeys.recipient(keys, phoneNumber),
      },
      { maxCount: count, maxClockStep: MAX_REDIS_CLOCK_STEP_MS, sendPrefix: keys('send', '') },
    );
    return this.records(account, ids as string[]);
  }

  async boundSends(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, BoundSend>> {
    return readSendsOfMessages(this.redis, this.keys(account), contactId, messageIds);
  }

  async trim(
    account: string,
    { maxAgeMs, maxCount }: { maxAgeMs: number; maxCount: number },
  ): Promise<SendOrder[]> {
    const keys = this.keys(account);
    const oldest = (await this.now(account)) - maxAgeMs;
    const removed = await trimFinishedSends(this.redis, keys, { oldest, maxCount, rowsKept: this.rowsKept });
    if (removed.length > 0) return removed;
    for (const record of await readExcessAcceptedAndUnknownSends(this.redis, keys, maxCount))
      await this.apply(account, record, {
        transition: record.state.status === 'accepted' ? 'dropped_accepted' : 'dropped_unknown',
        state: { ...fieldsKeptAcrossTransitions(record.state), forgotten: true, reason: DROPPED_REASON },
      });
    return trimFinishedSends(this.redis, keys, { oldest, maxCount, rowsKept: this.rowsKept });
  }

  async now(account: string): Promise<number> {
    return readRedisTime(this.redis, this.keys(account)('lanes', 'due'));
  }

  private async records(account: string, ids: readonly string[]): Promise<SendRecord[]> {
    return readSendRecords(this.redis, this.keys(account), ids);
  }
}
