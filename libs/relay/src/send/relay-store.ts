import type { TraceContext } from '#platform';
import type { IdempotencyKeyUse } from './idempotency-keys.js';
import type { IdempotencyKey, SendQuota } from './send-service.js';
import type { LaneHead, LaneStore } from './lane-store.js';
import type { TransitionName } from './send-transitions.js';
import type { BoundMessage, SendOrder, SendProgress, SendRecord } from './send-record.js';

/** A change of a send: one transition, with everything that is written together with it in one atomic step. */
export interface StateChange {
  /** Name of the transition. {@link findTransitionResult} returns the new status and the event of the transition. */
  transition: TransitionName;
  /** The send's state after the transition, without the fields that the store sets itself, such as the status. */
  state: SendProgress;
  /**
   * Time until the lane (the recipient's queue) is due again, in milliseconds. If absent, the lane keeps its due
   * time. Must be absent if the send leaves its lane, because the lane is then due at once.
   */
  laneDueInMs?: number;
  /**
   * Time until the next check whether the message of an accepted send has appeared, in milliseconds; null to stop the
   * checks. If absent, the time of the next check does not change. If the send does not have the status `accepted`
   * after the change, its checks always stop.
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
   * - `update`: the current run becomes the send's run, because a look-up starts now, or because the process that
   *   makes the POST stores the lost record of the POST again;
   * - absent: the run is neither compared nor changed.
   */
  redisRun?: 'mustMatch' | 'update';
  /**
   * True if Redis may have lost the record of a POST of the send. The send then counts as posted at least once, so
   * that a message that appears later is bound to it.
   */
  mayHaveLostPost?: boolean;
  /**
   * Unique id of the change, which becomes `step` of the changed send. With it, the caller can find out whether the
   * change was stored although Redis' reply was lost. Default: an id that the caller does not know.
   */
  name?: string;
}

/** A send after a change of {@link RelayStore.apply}. */
export interface AppliedChange extends SendRecord {
  /** True if the change took the send out of its lane, and the lane is then empty. */
  isLaneEmpty?: true;
}

/** A send that is not stored yet. If `createdAt` is absent, the store sets it by its own clock. */
export type NewSendOrder = Omit<SendOrder, 'createdAt'> & Partial<Pick<SendOrder, 'createdAt'>>;

/** The result of storing a send: `new` if the send was stored, otherwise the reason why no new send was stored. */
export type InsertResult = { kind: 'new' } | { kind: 'quotaExceeded' } | IdempotencyKeyUse;

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

/** A queued send that may have expired, and the current time by Redis' clock, in milliseconds since 1970. */
export type ExpirableSend = Pick<LaneHead, 'record' | 'now'>;

/** Stores sends. Each change of a send and the event of the change are written in one atomic step. */
export interface RelayStore extends LaneStore {
  /**
   * Stores a send in its recipient's lane (status `queued`) or in the schedule (status `scheduled`), unless the
   * idempotency key is already in use or the quota is used up.
   */
  insert(
    account: string,
    order: NewSendOrder,
    idempotency?: IdempotencyKey,
    quota?: SendQuota,
  ): Promise<InsertResult>;

  /** Returns a send, or undefined if the send does not exist. */
  find(account: string, id: string): Promise<SendRecord | undefined>;

  /**
   * Applies a change to a send, and returns the changed send. Writes nothing and returns undefined in these cases:
   * - the stored send has changed or was removed since `record` was read;
   * - the message in `change.claim` already belongs to another send;
   * - `change.redisRun` is `mustMatch`, and Redis has restarted since the send was stored or last looked up.
   *
   * @throws {InvalidTransitionError} if the transition is not allowed in the status of `record`
   */
  apply(account: string, record: SendRecord, change: StateChange): Promise<AppliedChange | undefined>;

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
   * and sends that have been in their lane for more than `maxAgeMs` milliseconds. Returns at most `count` of each
   * kind. Leaves out sends that were stored or last looked up before the last Redis restart, because they may have
   * been posted.
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
   * The list ends with the queued and scheduled sends that may have been posted before Redis restarted and lost the
   * record of the POST. Scheduled sends are returned only if they are due within the next 24 hours, because Redis'
   * clock may have been set back by up to this time.
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
   * Removes finished sends that are too old, and the oldest sends if there are too many. Each call removes a limited
   * number of sends. Returns the removed sends without their states.
   *
   * Accepted and unknown sends are removed only after all finished sends, because their outcome is not certain. Each
   * removal of an accepted or unknown send emits an event.
   */
  trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<SendOrder[]>;

  /** Returns the current time by Redis' clock, in milliseconds since 1970. */
  now(account: string): Promise<number>;
}
