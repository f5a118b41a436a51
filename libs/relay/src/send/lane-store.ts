import type { SendProgress, SendRecord } from './send-record.js';

/**
 * The first send in a lane (a recipient's queue of sends), with the data that a worker needs for the send's next
 * step.
 */
export interface LaneHead {
  record: SendRecord;
  /** Current time by Redis' clock, in milliseconds since 1970. */
  now: number;
  /**
   * When the last restart or failover of Redis was noticed, in milliseconds since 1970. Redis may have lost the
   * writes of the last seconds before the restart. Absent if this send was stored or last looked up after the
   * restart.
   */
  redisRestartedAt?: number;
  /**
   * By how much upstream's clock is ahead of Redis' clock, in milliseconds, as measured by polls. Absent if no poll
   * has measured it.
   */
  upstreamAheadMs?: number;
  /**
   * Which of the account's upstream addresses belong to the same messaging service. Key: hash of an address that a
   * contact list was read from. Value: hash of the first known address of the service behind this address.
   */
  services: ReadonlyMap<string, string>;
  /**
   * When a restart or failover of Redis was noticed, in milliseconds since 1970. Present only if this is the first
   * lane head of the account that was read after the restart.
   */
  noticedRestartAt?: number;
}

/** What {@link LaneStore.fence} needs to mark a send as being posted. */
export interface Fence {
  /** The send's state during the POST, without the fields that the store sets itself, such as the status. */
  state: SendProgress;
  /**
   * Duration of the lease of the POST, in milliseconds. When the lease ends, the lane (the recipient's queue) is due
   * again.
   */
  leaseMs: number;
  /** Request budget of the account. */
  requestsPerSecond: number;
  /** Unique id of the change; see `StateChange.name`. */
  name: string;
}

/**
 * The result of {@link LaneStore.fence}.
 * - `fenced`: the send is marked as being posted, and a token of the request budget is taken.
 * - `changed`: the send has changed since it was read, or Redis restarted.
 * - `unusual`: the send is not marked, and no token is taken. For example, the request budget has no token now, or
 *   there is an outage. The caller must call `Sender.takeBudgetToken`. If this call returns in time, the caller then
 *   applies the transition `fenced`.
 */
export type FenceResult = { kind: 'fenced'; record: SendRecord } | { kind: 'changed' } | { kind: 'unusual' };

/** Stores the lanes: which sends of a recipient are due in which order, and when. */
export interface LaneStore {
  /** Returns the first send in a lane, or undefined if the lane is empty. */
  laneHead(account: string, lane: string): Promise<LaneHead | undefined>;

  /**
   * Marks a queued send as being posted (transition `fenced`), and takes a token of the account's request budget, in
   * one atomic step. Does neither if one of the two is not possible, or if Redis has restarted since the send was
   * stored or last looked up.
   * @throws {InvalidTransitionError} if the send is not queued
   */
  fence(account: string, record: SendRecord, fence: Fence): Promise<FenceResult>;

  /** Removes a send from its lane. Used if a send with its status does not belong in a lane. */
  removeFromLane(account: string, record: SendRecord): Promise<void>;

  /**
   * Makes a lane due in `ms` milliseconds. Returns false and changes nothing if `head` is no longer the first send in
   * the lane.
   */
  postponeLane(account: string, head: SendRecord, ms: number): Promise<boolean>;

  /**
   * Makes at most `count` waiting lanes due now, whatever the reason for the wait. Returns the recipients of these
   * lanes.
   */
  releaseWaitingLanes(account: string, count: number): Promise<string[]>;

  /** Returns the recipients of at most `count` due lanes, starting with the lanes that have been due longest. */
  dueLanes(account: string, count: number): Promise<string[]>;
}
