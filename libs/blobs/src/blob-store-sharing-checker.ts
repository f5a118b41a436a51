import { type Logger, logMessageOf, withDeadline } from '#platform';
import { type BlobStore, MAX_LISTED_PROCESS_MARKERS } from './blob-store.js';

/**
 * Age after which a process's marker in the blob store counts as expired, in milliseconds. Each running
 * process renews its marker every minute.
 */
export const PROCESS_MARKER_TTL_MS = 600_000;
/** Maximum number of expired markers that one check removes from the blob store. */
const MAX_REMOVED = 100;
/**
 * Maximum time that a stopping process waits until its marker is removed from the blob store, in
 * milliseconds.
 */
const LEAVE_TIMEOUT_MS = 2_000;
/** Timeout for listing the other running processes, in milliseconds. */
const PEERS_TIMEOUT_MS = 2_000;

/**
 * Lists the other processes that must use the same blob store as this process. For a gateway, these are the
 * workers with the role relay. For a worker, these are the gateways.
 */
export interface BlobPeers {
  /** Name of this process. It consists of letters, digits, dots, dashes and underscores. */
  readonly name: string;
  /**
   * Returns the names of the other running processes that must use the same blob store. A process is listed only
   * after it has written its marker to its blob store.
   */
  others(): Promise<readonly string[]>;
}

/**
 * Detects whether gateways and relay workers share one blob store. Each of these processes writes a marker with
 * its name to its blob store, and checks there for the markers of the other processes. If the stores are
 * separate, a worker cannot find the files that a gateway stored.
 */
export class BlobStoreSharingChecker {
  private missing = 0;
  private confirmed = false;
  /** The listing of the other processes that is in progress, if any. */
  private listing: Promise<readonly string[]> | undefined;

  constructor(
    private readonly blobs: Pick<BlobStore, 'writeMarker' | 'listMarkers' | 'removeMarker'>,
    private readonly peers: BlobPeers,
    private readonly logger: Logger,
  ) {}

  /**
   * Number of other running processes that must use this blob store (see {@link BlobPeers}), but had no marker in it
   * when the last completed check looked for the markers.
   */
  get peersWithoutMarker(): number {
    return this.missing;
  }

  /**
   * True if the last check that did not throw found the markers of all other running processes that must use this
   * blob store, and at least one such process was running. False if that check could not list all processes and
   * markers.
   */
  get isConfirmed(): boolean {
    return this.confirmed;
  }

  /**
   * Renews the marker of this process in the blob store, looks there for the markers of the other processes, and
   * removes expired markers.
   * @throws {BlobStoreUnavailableError} if the blob store cannot be used
   */
  async check(): Promise<void> {
    this.confirmed = await this.findsAllPeers();
  }

  private async findsAllPeers(): Promise<boolean> {
    const { name } = this.peers;
    await this.blobs.writeMarker(name);
    const before = await this.others();
    const markers = await this.blobs.listMarkers();
    await this.removeExpired(markers);
    // The store lists at most `MAX_LISTED_PROCESS_MARKERS` markers. If the list is full, markers may be missing from
    // it, so the check is skipped.
    if (markers.length >= MAX_LISTED_PROCESS_MARKERS) return false;
    const seen = new Set(markers.map(({ id }) => id));
    const unseen = before?.filter((other) => !seen.has(other)) ?? [];
    // Processes are listed again, because a process without a marker may have stopped in the meantime.
    const after = unseen.length === 0 ? [] : await this.others();
    if (before === undefined || after === undefined) return false;
    this.report(unseen.filter((other) => after.includes(other)).length);
    return this.missing === 0 && before.some((other) => seen.has(other));
  }

  /**
   * Removes the marker of this process from the blob store before the process stops. Gives up after {@link
   * LEAVE_TIMEOUT_MS}.
   */
  async removeMarker(): Promise<void> {
    try {
      await withDeadline(this.blobs.removeMarker(this.peers.name), LEAVE_TIMEOUT_MS, 'removing a marker');
    } catch (error) {
      this.logger.debug(
        { reason: logMessageOf(error) },
        'could not remove the marker file of this process from the blob store; the file expires later',
      );
    }
  }

  private report(missing: number): void {
    if (missing > 0 && this.missing === 0)
      this.logger.error(
        { processes: missing },
        'gateways and workers use different blob stores: sends with a file will fail; set the same BLOB_STORE for all gateways and workers',
      );
    if (missing === 0 && this.missing > 0)
      this.logger.info('all gateways and workers use the same blob store again');
    this.missing = missing;
  }

  /** Returns the names of the other running processes, or undefined if the list is not available. */
  private async others(): Promise<readonly string[] | undefined> {
    try {
      return await withDeadline(this.listOthers(), PEERS_TIMEOUT_MS, 'listing the other processes');
    } catch (error) {
      this.logger.debug(
        { reason: logMessageOf(error) },
        'could not check whether all gateways and workers use the same blob store',
      );
      return undefined;
    }
  }

  /**
   * Lists the other processes. Only one call runs at a time: while Redis is unreachable, each call stays in memory.
   */
  private listOthers(): Promise<readonly string[]> {
    this.listing ??= this.peers.others().finally(() => {
      this.listing = undefined;
    });
    return this.listing;
  }

  /**
   * Removes expired markers from the blob store. The current time by the store's clock is taken from the
   * marker that this process has just renewed.
   */
  private async removeExpired(markers: readonly { id: string; storedAt: number }[]): Promise<void> {
    const now = markers.find(({ id }) => id === this.peers.name)?.storedAt;
    if (now === undefined) return;
    const old = markers.filter(({ storedAt }) => now - storedAt > PROCESS_MARKER_TTL_MS);
    for (const { id } of old.slice(0, MAX_REMOVED)) await this.blobs.removeMarker(id);
  }
}
