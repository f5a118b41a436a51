import type { Clock, Logger, RedisClient } from '#platform';
import type { BlobStore } from '#blobs';
import { FileRemovingRelayStore } from './file-removing-relay-store.js';
import { LOST_JOB_CHECK_DELAY_MS, RELAY_TASK_NAMES, type RelayHints } from '../jobs/relay-hints.js';
import type { InsertResult, NewSendOrder, StateChange } from '../send/relay-store.js';
import type { IdempotencyKey } from '../send/send-intake.js';
import type { SendRecord } from '../send/send-record.js';

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
    const next = await super.apply(account, record, change);
    const { confirmInMs } = change;
    if (next !== undefined && typeof confirmInMs === 'number') {
      this.hints.relay.announce(account, RELAY_TASK_NAMES.confirm, confirmInMs);
    }
    return next;
  }
}
