import { type Logger, observeMethodCalls, withDeadline } from '#platform';
import type { BlobStoreSharingChecker } from './blob-store-sharing-checker.js';
import { type BlobStore, BlobStoreUnavailableError } from './blob-store.js';

const CHECK_INTERVAL_MS = 60_000;
/**
 * Time after which a check counts as failed, in milliseconds. A timeout is needed, because a file system call may
 * never end if the blob store is a directory on a network share that hangs.
 */
const CHECK_TIMEOUT_MS = 25_000;
/**
 * Minimum time for which a blob store counts as full after an upload failed for lack of space, in milliseconds. The
 * first successful check after this time ends the state. Earlier checks do not, because a check writes less than most
 * uploads.
 */
const FULL_MS = 300_000;
/** Error codes of a disk without free space, and of a user whose quota is used up. */
const FULL_CODES = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Checks whether the blob store is usable and whether gateways and workers share it. A check runs when the monitor
 * starts, and then every minute. Between checks, the monitor notices uploads that fail because the store is full.
 */
export class BlobStoreMonitor {
  private timer: NodeJS.Timeout | undefined;
  private reason: string | undefined;
  /**
   * The last upload that failed because the store was full: its error, and when it failed, by `performance.now()`.
   * Undefined if the store does not count as full.
   */
  private full: { reason: string; at: number } | undefined;
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

  /**
   * Reason why the last check of the blob store failed. If the last check succeeded: why an upload failed for lack of
   * space, as long as the store counts as full (see {@link FULL_MS}). Otherwise undefined.
   */
  get fault(): string | undefined {
    return this.reason ?? this.full?.reason;
  }

  /** Wraps the store in an object that notices uploads that fail because the store is full. */
  observeUploads(store: BlobStore): BlobStore {
    return observeMethodCalls<BlobStore>(store, {
      put: ({ outcome }) => {
        if ('error' in outcome && isFull(outcome.error)) this.recordFull(outcome.error);
      },
    });
  }

  /**
   * Number of other running processes that must use the same blob store as this process, but had no marker in it when
   * the last check looked for the markers.
   */
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
    const before = this.fault;
    try {
      await withDeadline(this.useStore(), this.timeoutMs, 'checking the blob store');
      this.reason = undefined;
      if (this.full !== undefined && performance.now() - this.full.at >= FULL_MS) this.full = undefined;
      if (before !== undefined && this.fault === undefined)
        this.logger.info('the blob store is usable again');
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

  private recordFull(error: BlobStoreUnavailableError): void {
    if (this.fault === undefined)
      this.logger.error({ err: error }, 'the blob store is full: sends with a file cannot be stored');
    this.full = { reason: error.message, at: performance.now() };
  }
}

/** Returns true if a call of the blob store failed because the store has no free space. */
function isFull(error: unknown): error is BlobStoreUnavailableError {
  if (!(error instanceof BlobStoreUnavailableError)) return false;
  const { cause } = error;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return false;
  return typeof cause.code === 'string' && FULL_CODES.has(cause.code);
}
