import { type Logger, logWords, withDeadline } from '#platform';
import { type BlobStore, MAX_MARKS } from './blob-store.js';

/** A mark that was not renewed for so long is of a process that is gone; it is renewed every minute. */
const MARK_TTL_MS = 600_000;
/** So many of those are removed at a time. */
const MAX_REMOVED = 100;
/** A process that ends waits so long for its mark to go. */
const LEAVE_TIMEOUT_MS = 2_000;
/** So long the list of the others may take. */
const PEERS_TIMEOUT_MS = 2_000;

/** Those whose uploads this process relays, or who relay its uploads. */
export interface BlobPeers {
  /** Of this process: letters, digits, dots, dashes, underscores. */
  readonly name: string;
  /** Names of the others that are alive; each left its mark before it was. */
  others(): Promise<readonly string[]>;
}

/**
 * Whether gateways and workers have one blob store: each leaves a mark there, and looks for those of the others. Where they
 * have two, a worker finds no file that a gateway took.
 */
export class BlobSharing {
  private missing = 0;

  constructor(
    private readonly blobs: Pick<BlobStore, 'mark' | 'marks' | 'unmark'>,
    private readonly peers: BlobPeers,
    private readonly logger: Logger,
  ) {}

  /** How many of the others did not leave their marks here. */
  get unseen(): number {
    return this.missing;
  }

  /** @throws {BlobStoreUnavailableError} */
  async look(): Promise<void> {
    const { name } = this.peers;
    await this.blobs.mark(name);
    const before = await this.others();
    const marks = await this.blobs.marks();
    await this.removeExpired(marks);
    // Those of many that were killed: there may be more than were shown.
    if (marks.length >= MAX_MARKS) return;
    const seen = new Set(marks.map(({ id }) => id));
    const unseen = before?.filter((other) => !seen.has(other)) ?? [];
    // One that ended meanwhile took its mark away.
    const after = unseen.length === 0 ? [] : await this.others();
    if (before === undefined || after === undefined) return;
    this.note(unseen.filter((other) => after.includes(other)).length);
  }

  /** The process ends, and its mark with it, if that is quickly done. */
  async leave(): Promise<void> {
    try {
      await withDeadline(this.blobs.unmark(this.peers.name), LEAVE_TIMEOUT_MS, 'removing a mark');
    } catch (error) {
      this.logger.debug({ reason: logWords(error) }, 'a mark stays in the blob store until it is forgotten');
    }
  }

  private note(missing: number): void {
    if (missing > 0 && this.missing === 0)
      this.logger.error(
        { processes: missing },
        'the blob store is not shared: sends with a file will fail; gateways and workers need the same BLOB_STORE',
      );
    if (missing === 0 && this.missing > 0) this.logger.info('the blob store is shared again');
    this.missing = missing;
  }

  /** Undefined where that cannot be known now. */
  private async others(): Promise<readonly string[] | undefined> {
    try {
      return await withDeadline(this.peers.others(), PEERS_TIMEOUT_MS, 'asking who is alive');
    } catch (error) {
      this.logger.debug({ reason: logWords(error) }, 'whether the blob store is shared cannot be known now');
      return undefined;
    }
  }

  /** By the store's clock, which this process's own mark has just shown. */
  private async removeExpired(marks: readonly { id: string; storedAt: number }[]): Promise<void> {
    const now = marks.find(({ id }) => id === this.peers.name)?.storedAt;
    if (now === undefined) return;
    const old = marks.filter(({ storedAt }) => now - storedAt > MARK_TTL_MS);
    for (const { id } of old.slice(0, MAX_REMOVED)) await this.blobs.unmark(id);
  }
}
