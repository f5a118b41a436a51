import { type Logger, logMessageOf, withDeadline } from '#platform';
import { type BlobStore, MAX_LISTED_PROCESS_MARKERS } from './blob-store.js';
import { PROCESS_MARKER_TTL_MS } from './blob-store-sharing-checker.js';

/** Timeout for listing the running processes, in milliseconds. */
const LIST_TIMEOUT_MS = 2_000;

/**
 * Detects that processes of another installation use the blob store of this process. In that case, one installation is
 * misconfigured (for example, a worker has the wrong `REDIS_URL`), and files in the store may belong to the other
 * installation.
 */
export class OtherInstallationDetector {
  /**
   * @param name name of this process, which has a marker in the store
   * @param running returns the names of all running processes of this installation
   */
  constructor(
    private readonly blobs: Pick<BlobStore, 'writeMarker' | 'listMarkers'>,
    private readonly name: string,
    private readonly running: () => Promise<readonly string[]>,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns true if the blob store has an unexpired marker of a process that does not belong to this installation.
   * This includes markers of processes that were killed. Also returns true if it is unknown whether there is such a
   * marker.
   * @throws {BlobStoreUnavailableError} if the blob store cannot be used
   */
  async hasForeignProcesses(): Promise<boolean> {
    // The time of this marker is the current time by the store's clock.
    await this.blobs.writeMarker(this.name);
    const markers = await this.blobs.listMarkers();
    const now = markers.find(({ id }) => id === this.name)?.storedAt;
    // The store lists at most `MAX_LISTED_PROCESS_MARKERS` markers. If the list is full, the marker of a foreign
    // process may be missing from it.
    if (now === undefined || markers.length >= MAX_LISTED_PROCESS_MARKERS) return true;
    const known = await this.known();
    if (known === undefined) return true;
    return markers.some(({ id, storedAt }) => now - storedAt <= PROCESS_MARKER_TTL_MS && !known.has(id));
  }

  private async known(): Promise<ReadonlySet<string> | undefined> {
    try {
      const names = await withDeadline(this.running(), LIST_TIMEOUT_MS, 'listing the running processes');
      return new Set([...names, this.name]);
    } catch (error) {
      this.logger.debug(
        { reason: logMessageOf(error) },
        'could not check whether another installation uses the same blob store',
      );
      return undefined;
    }
  }
}
