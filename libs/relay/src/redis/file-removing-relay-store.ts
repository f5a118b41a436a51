import type { Clock, Logger, RedisClient } from '#platform';
import type { BlobStore } from '#blobs';
import { mayStillNeedFile } from '../send/file-rule.js';
import { RedisRelayStore } from './redis-relay-store.js';
import type { AppliedChange, StateChange } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';

/**
 * Maximum number of files that one process removes at the same time. While a blob store hangs, further files are left
 * to the periodic clean-up.
 */
const MAX_REMOVALS = 100;

/** Store of sends that also removes a send's uploaded file as soon as the send no longer needs the file. */
export class FileRemovingRelayStore extends RedisRelayStore {
  private removals = 0;

  constructor(
    redis: RedisClient,
    prefix: string,
    clock: Clock,
    private readonly blobs: BlobStore,
    private readonly logger: Logger,
    rowsKept?: 'on' | 'off',
  ) {
    super(redis, prefix, clock, rowsKept);
  }

  override async apply(
    account: string,
    record: SendRecord,
    change: StateChange,
  ): Promise<AppliedChange | undefined> {
    const next = await super.apply(account, record, change);
    if (next !== undefined && mayStillNeedFile(record.state.status) && !mayStillNeedFile(next.state.status)) {
      this.startRemoval(account, next);
    }
    return next;
  }

  /**
   * Starts the removal of the file of a send in the background, so that a hanging blob store delays neither a caller
   * nor a lane.
   */
  private startRemoval(account: string, send: SendRecord): void {
    if (send.order.file === undefined || this.removals >= MAX_REMOVALS) return;
    this.removals += 1;
    void this.removeFile(account, send).finally(() => {
      this.removals -= 1;
    });
  }

  /** Removes the uploaded file of a send. If the removal fails, the periodic clean-up removes the file later. */
  private async removeFile(account: string, { order }: SendRecord): Promise<void> {
    if (order.file === undefined) return;
    try {
      await this.blobs.remove(order.file.blobId);
    } catch (error) {
      const { id: sendId, file } = order;
      this.logger.warn(
        { account, sendId, blobId: file.blobId, err: error },
        'could not remove the uploaded file of a send that no longer needs it; a periodic task removes the file later',
      );
    }
  }
}
