import type { Clock, Logger, RedisClient } from '#platform';
import type { BlobStore } from '#blobs';
import { FileRemovingRelayStore } from './file-removing-relay-store.js';
import {
  LOST_JOB_CHECK_DELAY_MS,
  RELAY_TASK_NAMES,
  type RelaySchedulers,
} from '../jobs/relay-jobs-with-reconciliation.js';
import type { AppliedChange, InsertResult, NewSendOrder, StateChange } from '../send/relay-store.js';
import type { IdempotencyKey, SendQuota } from '../send/send-service.js';
import type { SendRecord } from '../send/send-record.js';
import { storageLocationOfSend, type TransitionName } from '../send/send-transitions.js';

/**
 * Delay of the reconcile task that wakes a lane after a send has left the lane, in milliseconds. If several sends
 * leave their lanes within this time, for example because they expire, the task runs only once.
 */
const NEXT_SEND_DELAY_MS = 100;

/** Store of sends that also schedules an account's periodic tasks on the agenda (the due times of tasks in Redis). */
export class AgendaNotifyingRelayStore extends FileRemovingRelayStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    clock: Clock,
    blobs: BlobStore,
    logger: Logger,
    private readonly schedulers: RelaySchedulers,
    rowsKept?: 'on' | 'off',
  ) {
    super(redis, prefix, clock, blobs, logger, rowsKept);
  }

  /**
   * Stores a send. Also schedules the periodic tasks of the send, which find it if this process dies before it wakes
   * a worker. The schedule is written in the background, perhaps some milliseconds after the send. If the process
   * dies in between, the survey of the account finds the send.
   */
  override insert(
    account: string,
    order: NewSendOrder,
    idempotency?: IdempotencyKey,
    quota?: SendQuota,
  ): Promise<InsertResult> {
    if (order.sendAt === undefined)
      this.schedulers.relay.announce(account, RELAY_TASK_NAMES.reconcile, LOST_JOB_CHECK_DELAY_MS);
    else this.schedulers.schedule.announce(account, RELAY_TASK_NAMES.promote, { atMs: order.sendAt });
    if (order.expiresAt !== undefined)
      this.schedulers.relay.announce(account, RELAY_TASK_NAMES.expire, { atMs: order.expiresAt });
    return super.insert(account, order, idempotency, quota);
  }

  /**
   * Moves due scheduled sends to their lanes. Also schedules the check for due lanes, as {@link insert} does, because
   * this process may die before it wakes a worker for the lanes.
   */
  override promoteScheduled(account: string, count: number): Promise<string[]> {
    this.schedulers.relay.announce(account, RELAY_TASK_NAMES.reconcile, LOST_JOB_CHECK_DELAY_MS);
    return super.promoteScheduled(account, count);
  }

  override async apply(
    account: string,
    record: SendRecord,
    change: StateChange,
  ): Promise<AppliedChange | undefined> {
    // As for an inserted send: this process may die before it wakes a worker for the lane.
    if (change.transition === 'resolved_resend')
      this.schedulers.relay.announce(account, RELAY_TASK_NAMES.reconcile, LOST_JOB_CHECK_DELAY_MS);
    const next = await super.apply(account, record, change);
    if (next === undefined) return undefined;
    const { confirmInMs, transition } = change;
    if (typeof confirmInMs === 'number')
      this.schedulers.relay.announce(account, RELAY_TASK_NAMES.confirm, confirmInMs);
    // If a send left its lane, the lane's next send is due now, but the lane's wake-up job may be scheduled for a
    // later time, at which the send that left was due. A reconcile task therefore wakes the lane. After a POST, no
    // such task is needed, because the worker that made the POST continues with the lane.
    const hasLeftLane =
      storageLocationOfSend(record.state.status) === 'lane' &&
      storageLocationOfSend(next.state.status) !== 'lane';
    if (hasLeftLane && next.isLaneEmpty !== true && !isResultOfPost(transition))
      this.schedulers.relay.announce(account, RELAY_TASK_NAMES.reconcile, NEXT_SEND_DELAY_MS);
    return next;
  }
}

function isResultOfPost(transition: TransitionName): boolean {
  return transition === 'accepted' || transition === 'refused';
}
