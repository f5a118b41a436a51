import { rowCategoryOfStatus, previewOf, rowRedisKeys, type SendStatusNotice } from '#conversations';
import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';
import {
  accountKeys,
  lastSeenRedisRunId,
  type AccountKeys,
  type Clock,
  parseRedisHashReply,
  type RedisClient,
  readRedisTime,
  uniqueString,
} from '#platform';
import { idempotencyRedisKey, parseIdempotencyKeyUse } from './redis-idempotency-keys.js';
import {
  readSendsAwaitingMessageScript,
  removeSendFromLaneScript,
  readDueLanesScript,
  readDueSendsScript,
  readExpirableSendsScript,
  removeSendExpiryTimesScript,
  fenceSendScript,
  insertSendScript,
  readFirstSendInLaneScript,
  readMsUntilSortedSetMemberDueScript,
  postponeLaneScript,
  rescheduleChecksOfAcceptedSendsScript,
  queueScheduledSendsScript,
  makeLanesDueScript,
  applySendTransitionScript,
} from './redis-relay-scripts.js';
import {
  messageBindingRedisHashField,
  messageBindingRedisHashValue,
  readSendsOfMessages,
} from './redis-message-bindings.js';
import { laneRedisKeys, redisIndexKeysOfStoredSend, sendIndexRedisKeys } from './redis-send-index.js';
import { parseSendRecord, readSendRecords } from './redis-send-records.js';
import { trimFinishedSends, readExcessAcceptedAndUnknownSends } from './redis-send-retention.js';
import {
  boundSendOf,
  type BoundSend,
  type ExpirableSend,
  type Fence,
  type FenceResult,
  type LaneHead,
  type RelayStore,
  type InsertResult,
  type NewSendOrder,
  type StateChange,
} from '../send/relay-store.js';
import type { IdempotencyKey } from '../send/send-service.js';
import {
  possiblyAcceptedPostCountAfter,
  type Edge,
  InvalidTransitionError,
  transitionResult,
  storageLocationOfSend,
} from '../send/send-transitions.js';
import {
  isAwaitingMessage,
  isKeptAsUndecided,
  REDIS_CLOCK_TOLERANCE_MS,
  type SendOrder,
  type SendRecord,
  type SendState,
  fieldsKeptAcrossTransitions,
  timeOfStatus,
  toPublicSend,
} from '../send/send-record.js';

const DROPPED_REASON =
  'The account has more than SEND_RETENTION_MAX sends. This send is removed, although its outcome is unknown.';

/** Returns the status of a send as the JSON text that the Lua scripts publish for event streams. */
function statusNotice({
  order,
  state,
}: {
  order: NewSendOrder;
  state: Omit<SendState, 'updatedAt'>;
}): string {
  const notice: SendStatusNotice = {
    id: order.id,
    status: state.status,
    reference: order.reference ?? null,
    revision: state.revision,
    phoneNumber: order.phoneNumber,
    contactId: state.contactId ?? null,
  };
  return JSON.stringify(notice);
}

type DueSend = [member: string, id: string, order: string, state: string, revision: string];

/**
 * Stores sends in Redis. Each send is a hash, and each lane (a recipient's queue) is a list. Sorted sets hold the times
 * at which sends and lanes are due.
 */
export class RedisRelayStore implements RelayStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly clock: Clock,
    /** Whether the rows of conversations are stored and updated. */
    private readonly rowsKept: 'on' | 'off' = 'on',
  ) {}

  async insert(account: string, order: NewSendOrder, idempotency?: IdempotencyKey): Promise<InsertResult> {
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
        notice: statusNotice({ order, state }),
      },
    );
    return reply === 'new' ? { kind: 'new' } : parseIdempotencyKeyUse(String(reply));
  }

  async find(account: string, id: string): Promise<SendRecord | undefined> {
    const [record] = await this.records(account, [id]);
    return record;
  }

  async apply(account: string, record: SendRecord, change: StateChange): Promise<SendRecord | undefined> {
    const keys = this.keys(account);
    const { order, state: before } = record;
    const { laneDueInMs, confirmInMs, claim, redisRun } = change;
    const { event, name, next } = this.resultOf(record, change);
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
        expiresAt: expiryOf(next),
        isUndecided: isKeptAsUndecided(after) ? 'undecided' : '',
        rowsKept: this.rowsKept,
        rowCount: rowCategoryOfStatus(after.status),
        isOver: after.status === 'cancelled' ? 'over' : '',
        notice: statusNotice(next),
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
    if (done === 2) change.onLaneEmpty?.();
    return done === 0 ? undefined : next;
  }

  async fence(
    account: string,
    record: SendRecord,
    { state, leaseMs, requestsPerSecond, name }: Fence,
  ): Promise<FenceResult> {
    const keys = this.keys(account);
    const { order, state: before } = record;
    const { next } = this.resultOf(record, { transition: 'fenced', state, name });
    const reply = await fenceSendScript.run(
      this.redis,
      {
        send: keys('send', order.id),
        lanesDue: keys('lanes', 'due'),
        awaiting: keys('awaiting', order.phoneNumber),
        confirms: keys('confirms'),
        expiring: keys('sends', 'expiring'),
        statusBefore: sendIndexRedisKeys.status(keys, before.status),
        statusAfter: sendIndexRedisKeys.status(keys, next.state.status),
        upstream: keys('upstream'),
        forbidden: keys('upstream', 'forbidden'),
        bucket: keys('budget'),
        rows: rowRedisKeys(keys).rows,
      },
      {
        id: order.id,
        revision: before.revision,
        nonceBefore: before.step ?? '',
        state: JSON.stringify(next.state),
        nonce: name,
        recipient: order.phoneNumber,
        lease: Math.ceil(leaseMs),
        rate: requestsPerSecond,
        rowsKept: this.rowsKept,
        rowCount: rowCategoryOfStatus(next.state.status),
        notice: statusNotice(next),
      },
    );
    if (reply === 'fenced') return { kind: 'fenced', record: next };
    return reply === 'changed' ? { kind: 'changed' } : { kind: 'unusual' };
  }

  async removeFromLane(account: string, { order }: SendRecord): Promise<void> {
    const keys = this.keys(account);
    await removeSendFromLaneScript.run(
      this.redis,
      { lane: keys('lane', order.phoneNumber), ...laneRedisKeys(keys) },
      { id: order.id, recipient: order.phoneNumber },
    );
  }

  async laneHead(account: string, lane: string): Promise<LaneHead | undefined> {
    const keys = this.keys(account);
    const reply = await readFirstSendInLaneScript.run(
      this.redis,
      {
        lane: keys('lane', lane),
        knownRun: keys('relay', 'life'),
        upstreams: keys('upstreams'),
        ...laneRedisKeys(keys),
      },
      { sendPrefix: keys('send', ''), recipient: lane },
    );
    const { now, order, state, revision, otherRunSince, newRunSince, services } = reply as Record<
      'now' | 'order' | 'state' | 'revision' | 'otherRunSince' | 'newRunSince',
      string | undefined
    > & { services: string[] };
    if (now === undefined || order === undefined || state === undefined) return undefined;
    return {
      record: parseSendRecord(order, state, revision),
      now: Number(now),
      services: parseRedisHashReply(services),
      ...(otherRunSince === '' ? {} : { redisRestartedAt: Number(otherRunSince) }),
      ...(newRunSince === '' ? {} : { noticedRestartAt: Number(newRunSince) }),
    };
  }

  async postponeLane(account: string, { order }: SendRecord, ms: number): Promise<boolean> {
    const keys = this.keys(account);
    const reply = await postponeLaneScript.run(
      this.redis,
      { lanesDue: keys('lanes', 'due'), lane: keys('lane', order.phoneNumber) },
      { recipient: order.phoneNumber, wait: Math.ceil(ms), id: order.id },
    );
    return reply === 1;
  }

  async releaseWaitingLanes(account: string, count: number): Promise<string[]> {
    return (await makeLanesDueScript.run(
      this.redis,
      { lanesDue: this.keys(account)('lanes', 'due') },
      { maxCount: count },
    )) as string[];
  }

  async dueLanes(account: string, count: number): Promise<string[]> {
    return (await readDueLanesScript.run(
      this.redis,
      { due: this.keys(account)('lanes', 'due') },
      { maxCount: count },
    )) as string[];
  }

  async dueConfirmations(account: string, count: number): Promise<SendRecord[]> {
    const due = await this.dueSends(account, this.keys(account)('confirms'), count);
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
    const keys = this.keys(account);
    const reply = await readExpirableSendsScript.run(
      this.redis,
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
        this.redis,
        { expiring: keys('sends', 'expiring') },
        { sendPrefix: keys('send', ''), sends: others },
      );
    return ending;
  }

  async promoteScheduled(account: string, count: number): Promise<string[]> {
    const keys = this.keys(account);
    const due = await this.dueSends(account, keys('scheduled'), count);
    if (due.length === 0) return [];
    const steps: (string | number)[] = [];
    const invalid: [member: string, id: string, revision: string][] = [];
    for (const { member, id, record } of due) {
      const step = record === undefined ? undefined : transitionResult(record.state.status, 'promoted');
      if (record === undefined || step === undefined) {
        invalid.push([member, id, String(record?.state.revision ?? '')]);
        continue;
      }
      const { order, state } = record;
      const revision = state.revision + 1;
      const after: SendState = { ...state, status: step.to, revision, updatedAt: this.clock.now() };
      // This transition gets no id. Remove what the previous transitions stored, which would otherwise be stored again.
      delete after.step;
      delete after.statusSince;
      const notice = statusNotice({ order, state: after });
      steps.push(id, state.revision, order.phoneNumber, JSON.stringify(after), notice);
    }
    const reply = await queueScheduledSendsScript.run(
      this.redis,
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

  async nextScheduledInMs(account: string): Promise<number | undefined> {
    const reply = await readMsUntilSortedSetMemberDueScript.run(this.redis, {
      due: this.keys(account)('scheduled'),
    });
    return reply === '' ? undefined : Number(reply);
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
      { maxCount: count, clockTolerance: REDIS_CLOCK_TOLERANCE_MS, sendPrefix: keys('send', '') },
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

  /** Returns the members of a sorted set that are due, each with the record of its send if the send still exists. */
  private async dueSends(
    account: string,
    key: string,
    count: number,
  ): Promise<{ member: string; id: string; record: SendRecord | undefined }[]> {
    const reply = await readDueSendsScript.run(
      this.redis,
      { due: key },
      { maxCount: count, sendPrefix: this.keys(account)('send', '') },
    );
    return (reply as DueSend[]).map(([member, id, order, state, revision]) => ({
      ...{ member, id },
      record: order === '' ? undefined : parseSendRecord(order, state, revision),
    }));
  }

  /** Returns the send after a change, the event of the change, and a unique id of the change (`name`). */
  private resultOf(
    { order, state: before }: SendRecord,
    change: Pick<StateChange, 'transition' | 'state' | 'mayHaveLostPost' | 'name'>,
  ): { event: Edge['event']; name: string; next: SendRecord } {
    const { transition, state, mayHaveLostPost, name = uniqueString() } = change;
    const step = transitionResult(before.status, transition);
    if (step === undefined) throw new InvalidTransitionError(before.status, transition);
    const now = this.clock.now();
    const copies = possiblyAcceptedPostCountAfter(transition, before.copies ?? 0);
    const after: SendState = {
      ...state,
      ...{ status: step.to, copies: mayHaveLostPost === true ? Math.max(copies, 1) : copies },
      ...{ revision: before.revision + 1, updatedAt: now, step: name },
      ...(state.messageId !== undefined && before.messageId === undefined ? { boundAt: now } : {}),
    };
    // A new status begins at `updatedAt`. The state of the change may be a copy of the stored state.
    if (step.to === before.status) after.statusSince = timeOfStatus(before);
    else delete after.statusSince;
    return { event: step.event, name, next: { order, state: after } };
  }

  private async records(account: string, ids: readonly string[]): Promise<SendRecord[]> {
    return readSendRecords(this.redis, this.keys(account), ids);
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

/**
 * Returns the expiry time that a transition stores for a send: the send's `expiresAt`, 'never' if a send with the new
 * status cannot expire, or '' if the stored expiry time does not change.
 */
function expiryOf({ order, state }: SendRecord): number | 'never' | '' {
  if (order.expiresAt === undefined || state.status === 'scheduled') return '';
  return state.status === 'queued' ? order.expiresAt : 'never';
}
