import { type Logger, withDeadline } from '#platform';
import type { BlobStoreSharingChecker } from './blob-store-sharing-checker.js';
import type { BlobStore } from './blob-store.js';

const CHECK_INTERVAL_MS = 60_000;
/**
 * Time after which a check counts as failed, in milliseconds. A timeout is needed, because a file system call may
 * never end if the blob store is a directory on a network share that hangs.
 */
const CHECK_TIMEOUT_MS = 25_000;

/**
 * Checks whether the blob store is usable and whether gateways and workers share it. A check runs when the monitor
 * starts, and then every minute.
 */
export class BlobStoreMonitor {
  private timer: NodeJS.Timeout | undefined;
  private reason: string | undefined;
  /** The check that is in progress, if any. */
  private running: Promise<void> | undefined;

  /**
   * @param sharing checks whether processes share the blob store; absent in a process that neither stores nor
   * relays files
   * @param everyMs interval between two checks, in milliseconds
   */
  constructor(
    private readonly blobs: Pick<BlobStore, 'check'>,
    private readonly logger: Logger,
    private readonly sharing?: Pick<
      BlobStoreSharingChecker,
      'check' | 'removeMarker' | 'peersWithoutMarker' | 'isConfirmed'
    >,
    private readonly everyMs = CHECK_INTERVAL_MS,
    private readonly timeoutMs = CHECK_TIMEOUT_MS,
  ) {}

  /** Reason why the last check of the blob store failed; undefined if that check succeeded. */
  get fault(): string | undefined {
    return this.reason;
  }

  /** Number of gateways or workers that use a different blob store than this process. */
  get peersWithoutMarker(): number {
    return this.sharing?.peersWithoutMarker ?? 0;
  }

  /**
   * True if the last check succeeded, at least one other process had to use the same blob store, and the check found
   * the markers of all such processes.
   */
  get isSharingConfirmed(): boolean {
    return this.reason === undefined && this.sharing?.isConfirmed === true;
  }

  /** Starts the checks of the blob store. Resolves after the first check, even if that check fails. */
  async start(): Promise<void> {
    await this.check();
    this.timer = setInterval(() => void this.check(), this.everyMs).unref();
  }

  /**
   * Stops the checks, and removes the marker of this process from the blob store. Other processes expect a marker of
   * every running process, so call this method only after they know that this process stops.
   */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.sharing?.removeMarker();
  }

  /**
   * Starts a check, or waits for the check that is already in progress. Only one check runs at a time, because a call
   * that hangs keeps a thread of the process busy.
   */
  private useStore(): Promise<void> {
    this.running ??= (async () => {
      try {
        await this.blobs.check();
        await this.sharing?.check();
      } finally {
        this.running = undefined;
      }
    })();
    return this.running;
  }

  private async check(): Promise<void> {
    try {
      await withDeadline(this.useStore(), this.timeoutMs, 'checking the blob store');
      if (this.reason !== undefined) this.logger.info('the blob store is usable again');
      this.reason = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== this.reason)
        this.logger.error(
          { err: error },
          'the blob store is unusable: sends with a file cannot be stored or relayed',
        );
      this.reason = reason;
    }
  }
}
