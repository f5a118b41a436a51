import type { Clock, Logger, RedisClient } from '#platform';
import type { BlobStore } from '#blobs';
import { FileRemovingRelayStore } from './file-removing-relay-store.js';
import { LOST_JOB_CHECK_DELAY_MS, RELAY_TASK_NAMES, type RelayHints } from '../jobs/relay-hints.js';
import type { InsertResult, NewSendOrder, StateChange } from '../send/relay-store.js';
import type { IdempotencyKey } from '../send/send-intake.js';
import type { SendRecord } from '../send/send-record.js';
import { storageLocationOfSend, type TransitionName } from '../send/send-transitions.js';

/**
 * Delay after which workers look for the next send of a lane, in milliseconds. Sends that leave their lanes together, for
 * example because they expire, cause one look.
 */
const NEXT_SEND_DELAY_MS = 100;

/** Store of sends that also schedules an account's periodic tasks on the agenda. */
export class AgendaNotifyingRelayStore extends FileRemovingRelayStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    clock: Clock,
    blobs: BlobStore,
    logger: Logger,
    private readonly hints: RelayHints,
    rowsKept?: 'on' | 'off',
  ) {
    super(redis, prefix, clock, blobs, logger, rowsKept);
  }

  /**
   * Stores a send. Announces the send to the periodic tasks before the write, so that they find the send even if this
   * process dies right after the write.
   */
  override insert(account: string, order: NewSendOrder, idempotency?: IdempotencyKey): Promise<InsertResult> {
    if (order.sendAt === undefined)
      this.hints.relay.announce(account, RELAY_TASK_NAMES.reconcile, LOST_JOB_CHECK_DELAY_MS);
    else this.hints.schedule.announce(account, RELAY_TASK_NAMES.promote, { atMs: order.sendAt });
    if (order.expiresAt !== undefined)
      this.hints.relay.announce(account, RELAY_TASK_NAMES.expire, { atMs: order.expiresAt });
    return super.insert(account, order, idempotency);
  }

  override async apply(
    account: string,
    record: SendRecord,
    change: StateChange,
  ): Promise<SendRecord | undefined> {
    const lane = { isEmpty: false };
    const onLaneEmpty = (): void => {
      lane.isEmpty = true;
      change.onLaneEmpty?.();
    };
    const next = await super.apply(account, record, { ...change, onLaneEmpty });
    if (next === undefined) return undefined;
    const { confirmInMs, transition } = change;
    if (typeof confirmInMs === 'number')
      this.hints.relay.announce(account, RELAY_TASK_NAMES.confirm, confirmInMs);
    // The next send of the lane is due now, but workers were told to come back when the removed send would be due. After
    // a POST, the worker that made it goes on with the lane.
    const hasLeftLane =
      storageLocationOfSend(record.state.status) === 'lane' &&
      storageLocationOfSend(next.state.status) !== 'lane';
    if (hasLeftLane && !lane.isEmpty && !isResultOfPost(transition))
      this.hints.relay.announce(account, RELAY_TASK_NAMES.reconcile, NEXT_SEND_DELAY_MS);
    return next;
  }
}

function isResultOfPost(transition: TransitionName): boolean {
  return transition === 'accepted' || transition === 'refused';
}
