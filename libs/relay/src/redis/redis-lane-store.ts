import { rowCategoryOfStatus, rowRedisKeys } from '#conversations';
import { accountKeys, type AccountKeys, type Clock, parseRedisHashReply, type RedisClient } from '#platform';
import {
  fenceSendScript,
  makeLanesDueScript,
  postponeLaneScript,
  readDueLanesScript,
  readFirstSendInLaneScript,
  removeSendFromLaneScript,
} from './redis-relay-scripts.js';
import { laneRedisKeys, sendIndexRedisKeys } from './redis-send-index.js';
import { parseSendRecord } from './redis-send-records.js';
import { serializeSendStatusNotice } from './redis-send-status-notice.js';
import { changedSend } from '../send/changed-send.js';
import type { Fence, FenceResult, LaneHead, LaneStore } from '../send/lane-store.js';
import type { SendRecord } from '../send/send-record.js';

/**
 * Stores lanes in Redis. Each lane (a recipient's queue) is a list, and a sorted set holds the times at which lanes
 * are due.
 */
export class RedisLaneStore implements LaneStore {
  constructor(
    protected readonly redis: RedisClient,
    private readonly prefix: string,
    protected readonly clock: Clock,
    /** Whether the rows of conversations are stored and updated. */
    protected readonly rowsKept: 'on' | 'off' = 'on',
  ) {}

  async laneHead(account: string, lane: string): Promise<LaneHead | undefined> {
    const keys = this.keys(account);
    const reply = await readFirstSendInLaneScript.run(
      this.redis,
      {
        lane: keys('lane', lane),
        knownRun: keys('relay', 'life'),
        upstreams: keys('upstreams'),
        pollFacts: keys('polls', 'facts'),
        ...laneRedisKeys(keys),
      },
      { sendPrefix: keys('send', ''), recipient: lane },
    );
    const { now, order, state, revision, otherRunSince, newRunSince, upstreamAhead, services } =
      reply as Record<
        'now' | 'order' | 'state' | 'revision' | 'otherRunSince' | 'newRunSince' | 'upstreamAhead',
        string | undefined
      > & { services: string[] };
    if (now === undefined || order === undefined || state === undefined) return undefined;
    return {
      record: parseSendRecord(order, state, revision),
      now: Number(now),
      services: parseRedisHashReply(services),
      ...(otherRunSince === '' ? {} : { redisRestartedAt: Number(otherRunSince) }),
      ...(newRunSince === '' ? {} : { noticedRestartAt: Number(newRunSince) }),
      ...(upstreamAhead === '' ? {} : { upstreamAheadMs: Number(upstreamAhead) }),
    };
  }

  async fence(
    account: string,
    record: SendRecord,
    { state, leaseMs, requestsPerSecond, name }: Fence,
  ): Promise<FenceResult> {
    const keys = this.keys(account);
    const { order, state: before } = record;
    const { next } = changedSend(record, { transition: 'fenced', state, name }, this.clock.now());
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
        notice: serializeSendStatusNotice(next),
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

  protected keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}
