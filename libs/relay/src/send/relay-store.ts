import type { TraceContext } from '#platform';
import type { IdempotencyKeyUse } from './idempotency-keys.js';
import type { IdempotencyKey } from './send-service.js';
import type { TransitionName } from './send-transitions.js';
import type { BoundMessage, SendOrder, SendProgress, SendRecord } from './send-record.js';

/** A change of a send: one transition, with everything that is written together with it in one atomic step. */
export interface StateChange {
  /** Name of the transition. {@link transitionResult} returns the new status and the event of the transition. */
  transition: TransitionName;
  /** The send's state after the transition, without the fields that the store sets itself, such as the status. */
  state: SendProgress;
  /**
   * Time until the lane (the recipient's queue) is due again, in milliseconds. Not used if the send leaves its lane:
   * the lane is then due at once.
   */
  laneDueInMs?: number;
  /**
   * Time until the next check whether the message of an accepted send has appeared, in milliseconds; null to stop the
   * checks.
   */
  confirmInMs?: number | null;
  /**
   * The message to bind to the send: it is recorded as the send's message. If the message already belongs to another
   * send, the transition is not applied.
   */
  claim?: BoundMessage & { duplicate?: boolean };
  /**
   * Each send stores the Redis run in which it was stored or last looked up. A run ends when Redis restarts, fails
   * over or is restored from a backup, and writes may be lost then.
   * - `mustMatch`: the change is rejected if the send's run is not the current run;
   * - `update`: the current run becomes the send's run, because a look-up starts now.
   */
  redisRun?: 'mustMatch' | 'update';
  /**
   * True if Redis may have lost the record of a POST of the send. The send then counts as posted at least once, so
   * that a message that appears later is bound to it.
   */
  mayHaveLostPost?: boolean;
  /** Called if the transition takes the send out of its lane, and the lane is then empty. */
  onLaneEmpty?: () => void;
  /**
   * Unique id of the change, which becomes `step` of the changed send. With it, the caller can find out whether the
   * change was stored although Redis' reply was lost. Default: an id that the caller does not know.
   */
  name?: string;
}

/** A send that is not stored yet. If `createdAt` is absent, the store sets it by its own clock. */
export type NewSendOrder = Omit<SendOrder, 'createdAt'> & Partial<Pick<SendOrder, 'createdAt'>>;

/** What {@link RelayStore.fence} needs to mark a send as being posted. */
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
  /** Unique id of the change; see {@link StateChange.name}. */
  name: string;
}

/**
 * The result of {@link RelayStore.fence}.
 * - `fenced`: the send is marked as being posted, and a token of the request budget is taken.
 * - `changed`: the send has changed since it was read, or Redis restarted.
 * - `unusual`: the send is not marked, and no token is taken. For example, the request budget has no token now, or
 *   there is an outage. The caller must call `Sender.takeBudgetToken`. If this call returns in time, the caller then
 *   applies the transition `fenced`.
 */
export type FenceResult = { kind: 'fenced'; record: SendRecord } | { kind: 'changed' } | { kind: 'unusual' };

/** The result of storing a send: `new` if the send was stored, otherwise the reason why no new send was stored. */
export type InsertResult = { kind: 'new' } | IdempotencyKeyUse;

/** The send to which a message belongs. */
export interface BoundSend {
  sendId: string;
  /** True if another message was recorded for the same send earlier. */
  duplicate?: true;
  /** The caller's own id of the send, if the caller gave one. */
  reference?: string;
  /** The trace of the send. Absent if the send is not traced. */
  trace?: TraceContext;
}

/**
 * Returns what Redis stores for a message of a send, to record that the message belongs to the send.
 * @param hasEarlierMessage true if another message was recorded for the same send earlier
 */
export function boundSendOf({ id, reference, trace }: SendOrder, hasEarlierMessage: boolean): BoundSend {
  return {
    sendId: id,
    ...(hasEarlierMessage ? { duplicate: true } : {}),
    ...(reference === undefined ? {} : { reference }),
    ...(trace === undefined ? {} : { trace }),
  };
}

/**
 * The first send in a lane (a recipient's queue of sends), with the data that a worker needs for the send's next step.
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
   * Which of the account's upstream addresses belong to the same messaging service. Key: hash of an address that a
   * contact list was read from. Value: hash of the first known address of the service behind this address.
   */
  services: ReadonlyMap<string, string>;
  /**
   * When a restart or failover of Redis was noticed, in milliseconds since 1970. Present only if this is the first
   * lane head that was read after the restart.
   */
  noticedRestartAt?: number;
}

/** A queued send that may have expired, and the current time by Redis' clock, in milliseconds since 1970. */
export type ExpirableSend = Pick<LaneHead, 'record' | 'now'>;

/** Stores sends. Each change of a send and the event of the change are written in one atomic step. */
export interface RelayStore {
  /**
   * Stores a send in its recipient's lane (status `queued`) or in the schedule (status `scheduled`), unless the
   * idempotency key is already in use.
   */
  insert(account: string, order: NewSendOrder, idempotency?: IdempotencyKey): Promise<InsertResult>;

  /** Returns a send, or undefined if the send does not exist. */
  find(account: string, id: string): Promise<SendRecord | undefined>;

  /**
   * Applies a change to a send, and returns the changed send. Writes nothing and returns undefined in these cases:
   * - the stored send has changed since `record` was read;
   * - the message in `change.claim` already belongs to another send;
   * - `change.redisRun` is `mustMatch`, and Redis has restarted since the send was stored or last looked up.
   *
   * @throws {InvalidTransitionError} if the transition is not allowed in the status of `record`
   */
  apply(account: string, record: SendRecord, change: StateChange): Promise<SendRecord | undefined>;

  /**
   * Marks a queued send as being posted (transition `fenced`), and takes a token of the account's request budget, in
   * one atomic step. Does neither if one of the two is not possible, or if Redis has restarted since the send was
   * stored or last looked up.
   * @throws {InvalidTransitionError} if the send is not queued
   */
  fence(account: string, record: SendRecord, fence: Fence): Promise<FenceResult>;

  /** Returns the first send in a lane, or undefined if the lane is empty. */
  laneHead(account: string, lane: string): Promise<LaneHead | undefined>;

  /** Removes a send from its lane. Used if a send with its status does not belong in a lane. */
  removeFromLane(account: string, record: SendRecord): Promise<void>;

  /** Makes a lane due in `ms` milliseconds. Returns false if `head` is no longer the first send in the lane. */
  postponeLane(account: string, head: SendRecord, ms: number): Promise<boolean>;

  /**
   * Makes at most `count` waiting lanes due now, whatever the reason for the wait. Returns the recipients of these
   * lanes.
   */
  releaseWaitingLanes(account: string, count: number): Promise<string[]>;

  /** Returns the recipients of at most `count` lanes that are due. */
  dueLanes(account: string, count: number): Promise<string[]>;

  /** Returns at most `count` accepted sends for which a check for the send's message is due. */
  dueConfirmations(account: string, count: number): Promise<SendRecord[]>;

  /**
   * Schedules, for each send, the next check for its message in `inMs` milliseconds. Skips sends that have changed
   * since they were read, and sends whose check is no longer due. Returns the sends that were not skipped.
   */
  rescheduleChecksOfAcceptedSends(
    account: string,
    sends: readonly { record: SendRecord; inMs: number }[],
  ): Promise<SendRecord[]>;

  /**
   * Returns queued sends that may have expired, wherever they are in their lanes: sends whose `expiresAt` has passed,
   * and sends that have been in their lane for more than `maxAgeMs` milliseconds. Returns at most `count` of each kind.
   * Leaves out sends that were stored or last looked up before the last Redis restart, because they may have been
   * posted.
   */
  expirableSends(account: string, maxAgeMs: number, count: number): Promise<ExpirableSend[]>;

  /**
   * Moves at most `count` due scheduled sends to their recipients' lanes, in one atomic step. Returns the
   * recipient of each send. Sends that are due at the same time keep the order in which they were created.
   */
  promoteScheduled(account: string, count: number): Promise<string[]>;

  /** Returns the time until the next scheduled send is due, in milliseconds, or undefined if no send is scheduled. */
  nextScheduledInMs(account: string): Promise<number | undefined>;

  /**
   * Returns the sends to a recipient that a new message may belong to. The list starts with the posted sends that
   * still wait for a message, ordered by their first POST. Of these, at most the newest `count` sends are returned.
   * The list ends with the queued sends and the due scheduled sends that may have been posted before Redis restarted
   * and lost the record of the POST.
   */
  sendsAwaitingMessage(account: string, phoneNumber: string, count: number): Promise<SendRecord[]>;

  /**
   * Returns the sends that these messages of a contact belong to, by message id. Leaves out messages without a send.
   */
  boundSends(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, BoundSend>>;

  /**
   * Removes finished sends that are too old, and the oldest sends if there are too many. Returns the removed sends
   * without their states.
   *
   * Accepted and unknown sends are removed only after all finished sends, because their outcome is not certain. Each
   * removal of an accepted or unknown send emits an event.
   */
  trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<SendOrder[]>;

  /** Returns the current time by Redis' clock, in milliseconds since 1970. */
  now(account: string): Promise<number>;
}
