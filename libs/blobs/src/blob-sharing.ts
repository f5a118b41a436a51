import { type Logger, logMessageOf, withDeadline } from '#platform';
import { type BlobStore, MAX_PROCESS_MARKS } from './blob-store.js';

/**
 * Age after which a mark counts as expired, in milliseconds. Living processes renew their marks every minute.
 */
const MARK_TTL_MS = 600_000;
/** Maximum number of expired marks that one check removes. */
const MAX_REMOVED = 100;
/** Maximum time that a stopping process waits for the removal of its mark, in milliseconds. */
const LEAVE_TIMEOUT_MS = 2_000;
/** Timeout for the list of other processes, in milliseconds. */
const PEERS_TIMEOUT_MS = 2_000;

/** The other processes that must use the same blob store: workers for a gateway, gateways for a worker. */
export interface BlobPeers {
  /** Name of this process: letters, digits, dots, dashes, underscores. */
  readonly name: string;
  /**
   * Returns the names of the other living processes. Each process writes its mark before it appears in this
   * list.
   */
  others(): Promise<readonly string[]>;
}

/**
 * Detects whether gateways and workers share one blob store. Each process writes a mark to its store, and looks
 * there for the marks of the others. With separate stores, a worker does not find the files that a gateway
 * stored.
 */
export class BlobSharing {
  private missing = 0;

  constructor(
    private readonly blobs: Pick<BlobStore, 'mark' | 'marks' | 'unmark'>,
    private readonly peers: BlobPeers,
    private readonly logger: Logger,
  ) {}

  /** Number of other processes whose marks are not in this store. */
  get unseenPeers(): number {
    return this.missing;
  }

  /**
   * Renews the mark of this process, and looks for the marks of the others.
   * @throws {BlobStoreUnavailableError}
   */
  async check(): Promise<void> {
    const { name } = this.peers;
    await this.blobs.mark(name);
    const before = await this.others();
    const marks = await this.blobs.marks();
    await this.removeExpired(marks);
    // The listing is incomplete: it may be full of marks of killed processes.
    if (marks.length >= MAX_PROCESS_MARKS) return;
    const seen = new Set(marks.map(({ id }) => id));
    const unseen = before?.filter((other) => !seen.has(other)) ?? [];
    // A process that ended in the meantime has removed its mark.
    const after = unseen.length === 0 ? [] : await this.others();
    if (before === undefined || after === undefined) return;
    this.report(unseen.filter((other) => after.includes(other)).length);
  }

  /** Removes the mark of this process before it stops. Gives up after {@link LEAVE_TIMEOUT_MS}. */
  async removeMark(): Promise<void> {
    try {
      await withDeadline(this.blobs.unmark(this.peers.name), LEAVE_TIMEOUT_MS, 'removing a mark');
    } catch (error) {
      this.logger.debug(
        { reason: logMessageOf(error) },
        'could not remove the file by which this process shows that it shares the blob store; the file expires later',
      );
    }
  }

  private report(missing: number): void {
    if (missing > 0 && this.missing === 0)
      this.logger.error(
        { processes: missing },
        'some gateways or workers use another blob store: sends with a file will fail; set the same BLOB_STORE for all of them',
      );
    if (missing === 0 && this.missing > 0)
      this.logger.info('all gateways and workers use the same blob store again');
    this.missing = missing;
  }

  /** Returns the names of the other living processes, or undefined if the list is not available. */
  private async others(): Promise<readonly string[] | undefined> {
    try {
      return await withDeadline(this.peers.others(), PEERS_TIMEOUT_MS, 'listing the other processes');
    } catch (error) {
      this.logger.debug(
        { reason: logMessageOf(error) },
        'could not check whether all gateways and workers use the same blob store',
      );
      return undefined;
    }
  }

  /** Removes expired marks. Ages are measured by the store's clock, read from this process's own new mark. */
  private async removeExpired(marks: readonly { id: string; storedAt: number }[]): Promise<void> {
    const now = marks.find(({ id }) => id === this.peers.name)?.storedAt;
    if (now === undefined) return;
    const old = marks.filter(({ storedAt }) => now - storedAt > MARK_TTL_MS);
    for (const { id } of old.slice(0, MAX_REMOVED)) await this.blobs.unmark(id);
  }
}
