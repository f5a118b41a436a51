import type { IdempotencyKeyUse } from './idempotency-keys.js';
import type { IdempotencyKey } from './send-intake.js';
import type { TransitionName } from './send-transitions.js';
import type { BoundMessage, SendOrder, SendProgress, SendRecord } from './send-record.js';

/** A change of a send's state: one transition, with everything that is written in the same step. */
export interface StateChange {
  /** The transition. {@link edgeOf} derives the next status and the event from it. */
  transition: TransitionName;
  /** The rest of the state after the transition. */
  state: SendProgress;
  /** Time until the lane is due again, in milliseconds. A send that leaves its lane makes the lane due at once. */
  laneDueInMs?: number;
  /** Time until the next check for the message of an accepted send, in milliseconds; null to stop the checks. */
  confirmInMs?: number | null;
  /** The message that this send is. The change is refused if the message already belongs to another send. */
  claim?: BoundMessage & { duplicate?: boolean };
  /**
   * How the change treats the send's Redis run. A run ends when Redis restarts, fails over or is restored from a
   * backup.
   * - `mustMatch`: the change is refused if the send was stored, or last searched for, in another run;
   * - `update`: the current run becomes the send's run, because the search starts now.
   */
  redisRun?: 'mustMatch' | 'update';
}

/** The result of an insertion: a new send, or the reason why none was stored. */
export type InsertResult = { kind: 'new' } | IdempotencyKeyUse;

/** The send that a message belongs to. */
export interface BoundSend {
  sendId: string;
  /** True if another message of the same send was found earlier. */
  duplicate?: true;
}

/** The first send of a lane, with what a worker needs for its next step. */
export interface LaneHead {
  record: SendRecord;
  /** Redis' clock, in milliseconds since 1970. */
  now: number;
  /**
   * When Redis restarted or failed over after this send was stored or last searched for, in milliseconds since 1970.
   * Redis may have lost the writes of the last seconds before. Absent if the send belongs to the current Redis run.
   */
  redisRestartedAt?: number;
  /**
   * The services behind the account's upstream addresses. Key: stamp of an address that a contact list was read from.
   * Value: stamp of the first known address of the same service.
   */
  services: ReadonlyMap<string, string>;
  /**
   * When Redis restarted or failed over, in milliseconds since 1970. Present only if this read was the first to notice.
   */
  noticedRestartAt?: number;
}

/** A queued send that may have expired, and Redis' clock in milliseconds since 1970. */
export type ExpirableSend = Pick<LaneHead, 'record' | 'now'>;

/** Stores sends. Every change and its event are written in one atomic step. */
export interface RelayStore {
  /** Stores a send in its lane (`queued`) or in the schedule (`scheduled`), unless its idempotency key is taken. */
  insert(account: string, order: SendOrder, idempotency?: IdempotencyKey): Promise<InsertResult>;

  find(account: string, id: string): Promise<SendRecord | undefined>;

  /**
   * Applies a change. Returns the record after the change, or undefined if the stored send differs from `record`.
   * @throws {InvalidTransitionError} if the transition is invalid for the status of the send
   */
  apply(account: string, record: SendRecord, change: StateChange): Promise<SendRecord | undefined>;

  /** Returns the first send of a lane, or undefined if the lane is empty. */
  laneHead(account: string, lane: string): Promise<LaneHead | undefined>;

  /** Removes a send from its lane if its status does not belong in a lane. */
  removeFromLane(account: string, record: SendRecord): Promise<void>;

  /** Postpones a lane by `ms` milliseconds. Returns false if the send is no longer the head of the lane. */
  postponeLane(account: string, head: SendRecord, ms: number): Promise<boolean>;

  /** Makes at most `count` waiting lanes due, whatever they wait for. Returns these lanes. */
  releaseWaitingLanes(account: string, count: number): Promise<string[]>;

  /** Returns at most `count` lanes that are due. */
  dueLanes(account: string, count: number): Promise<string[]>;

  /** Returns at most `count` accepted sends whose next check for their message is due. */
  dueConfirmations(account: string, count: number): Promise<SendRecord[]>;

  /**
   * Returns queued sends that may have expired: by `expiresAt`, or by more than `maxAgeMs` in a lane. At most `count`
   * of each kind, at any position of their lanes.
   */
  expirableSends(account: string, maxAgeMs: number, count: number): Promise<ExpirableSend[]>;

  /**
   * Moves at most `count` due sends from the schedule to their lanes, in one atomic step. Returns their recipients.
   * Sends with the same time keep the order of their acceptance.
   */
  promoteScheduled(account: string, count: number): Promise<string[]>;

  /** Returns the time until the next scheduled send is due, in milliseconds, or undefined if no send is scheduled. */
  nextScheduledInMs(account: string): Promise<number | undefined>;

  /**
   * Returns the sends to a recipient that may still match a new message. First the last `count` sends that have no
   * message yet, ordered by their first POST. Then the queued sends that may have been posted in an earlier Redis run.
   */
  sendsAwaitingMessage(account: string, phoneNumber: string, count: number): Promise<SendRecord[]>;

  /** Returns the sends that these messages of a contact belong to, by message id. */
  boundSends(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, BoundSend>>;

  /**
   * Removes finished sends by age and number, the oldest first. Returns the orders of the removed sends.
   *
   * Accepted and unknown sends have no certain end, so they are not finished. They are removed only by number, after
   * every finished send, and each removal emits an event.
   */
  trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<SendOrder[]>;

  /** Redis' clock, in milliseconds since 1970. */
  now(account: string): Promise<number>;
}
