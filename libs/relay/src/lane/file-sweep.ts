import type { Clock, Logger } from '#platform';
import type { BlobStore, BlobEntry } from '#blobs';
import { needsFile } from '../send/file-rule.js';
import { sendIdOfBlob } from '../send/file-owner.js';
import type { RelayStore } from '../send/relay-store.js';

/** Maximum number of files that one sweep of an account examines. */
const MAX_FILES_PER_SWEEP = 1_000;
/**
 * Minimum age of a file that the sweep removes, in milliseconds. A send follows its upload within minutes; the rest of
 * the time covers differences between clocks.
 */
const MIN_ORPHAN_AGE_MS = 24 * 3_600_000;

/** Returns random hexadecimal digits, as many as a blob id has. */
export type RandomHex = () => string;

/**
 * Removes files that no send needs. Such files remain when a gateway dies between an upload and its send, when a
 * process dies between the end of a send and the removal of its file, or when Redis lost the send.
 */
export class FileSweep {
  constructor(
    private readonly store: Pick<RelayStore, 'find'>,
    private readonly blobs: BlobStore,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly randomHex: RandomHex,
  ) {}

  /**
   * Examines a part of the account's files, from a random id on. The random start lets independent sweeps reach every
   * file.
   */
  async sweep(account: string): Promise<void> {
    for (const { id, storedAt } of await this.randomBatch(account)) {
      if (this.clock.now() - storedAt < MIN_ORPHAN_AGE_MS) continue;
      if (await this.isNeeded(account, id)) continue;
      await this.blobs.remove(id);
      this.logger.info({ account, blobId: id }, 'removed a file that no send needs');
    }
  }

  private async randomBatch(account: string): Promise<BlobEntry[]> {
    const start = `${account}/blb_${this.randomHex()}`;
    const after = await this.blobs.list(account, start, MAX_FILES_PER_SWEEP);
    if (after.length === MAX_FILES_PER_SWEEP) return after;
    const before = await this.blobs.list(account, '', MAX_FILES_PER_SWEEP - after.length);
    return [...after, ...before.filter(({ id }) => id <= start)];
  }

  /** Returns true if a send needs the blob, or if the blob's name is foreign: the sweep leaves foreign files alone. */
  private async isNeeded(account: string, blobId: string): Promise<boolean> {
    const sendId = sendIdOfBlob(blobId.replace(/\.part$/, ''));
    if (sendId === undefined) return true;
    const record = await this.store.find(account, sendId);
    return record?.order.file?.blobId === blobId && needsFile(record.state.status);
  }
}
