import type { Clock, Logger } from '#platform';
import type { BlobEntry, BlobStore, OtherInstallationDetector } from '#blobs';
import { mayStillNeedFile } from '../send/file-rule.js';
import { sendIdOfUploadedFile } from '../send/file-owner.js';
import type { RelayStore } from '../send/relay-store.js';

/** Maximum number of uploaded files that one clean-up of an account examines. */
const MAX_FILES_PER_SWEEP = 1_000;
/**
 * Minimum age of an uploaded file that the clean-up removes, in milliseconds. A send is stored within minutes of the
 * upload of its file. The rest of the time allows for clock differences between machines.
 */
const MIN_ORPHAN_AGE_MS = 24 * 3_600_000;

/** Returns 32 random hexadecimal digits, as in the id of an uploaded file. */
export type RandomHex = () => string;

/**
 * Removes uploaded files that no send needs. Such files remain when a gateway dies between storing an upload and
 * storing its send, when a process stops before the file of an ended send is removed, when a removal fails or is
 * skipped because too many other removals are in progress, or when Redis lost the send.
 *
 * If a worker is configured with a wrong Redis, it finds no sends there, and all files seem to be unused. To protect
 * these files, a worker removes nothing while the blob store is also used by processes that its Redis does not know.
 */
export class UnusedFileRemover {
  constructor(
    private readonly store: Pick<RelayStore, 'find'>,
    private readonly blobs: BlobStore,
    private readonly foreign: Pick<OtherInstallationDetector, 'hasForeignProcesses'>,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly randomHex: RandomHex,
  ) {}

  /**
   * Examines some of the account's uploaded files, and removes those that no send needs. Each call starts at a random
   * file id, so that repeated calls reach every file.
   */
  async removeUnused(account: string): Promise<void> {
    const unused: string[] = [];
    for (const { id, storedAt } of await this.randomBatch(account)) {
      if (this.clock.now() - storedAt < MIN_ORPHAN_AGE_MS) continue;
      if (!(await this.isNeeded(account, id))) unused.push(id);
    }
    if (unused.length === 0) return;
    if (await this.foreign.hasForeignProcesses()) {
      this.logger.warn(
        { account, files: unused.length },
        'kept uploaded files that no send needs, because a process of another installation may use the same blob store; check REDIS_URL and REDIS_KEY_PREFIX, and give each installation a blob store of its own',
      );
      return;
    }
    for (const id of unused) {
      await this.blobs.remove(id);
      this.logger.info({ account, blobId: id }, 'removed an uploaded file that no send needs');
    }
  }

  private async randomBatch(account: string): Promise<BlobEntry[]> {
    const start = `${account}/blb_${this.randomHex()}`;
    const after = await this.blobs.list(account, start, MAX_FILES_PER_SWEEP);
    if (after.length === MAX_FILES_PER_SWEEP) return after;
    const before = await this.blobs.list(account, '', MAX_FILES_PER_SWEEP - after.length);
    return [...after, ...before.filter(({ id }) => id <= start)];
  }

  /**
   * Returns true if a send needs the file. Also returns true if the file's name shows that Tidings did not create the
   * file, because such a file must not be removed.
   */
  private async isNeeded(account: string, blobId: string): Promise<boolean> {
    const sendId = sendIdOfUploadedFile(blobId.replace(/\.part$/, ''));
    if (sendId === undefined) return true;
    const record = await this.store.find(account, sendId);
    return record?.order.file?.blobId === blobId && mayStillNeedFile(record.state.status);
  }
}
