import type { Clock, Logger } from '#platform';
import type { BlobStore, FoundBlob } from '#blobs';
import { needsFile } from '../send/file-rule.js';
import { sendIdOf } from '../send/file-owner.js';
import type { RelayStore } from '../send/relay-store.js';

/** So many files of an account are looked at in one round. */
const MAX_PER_ROUND = 1_000;
/**
 * An upload has its send within minutes: its whole request must be there within five. The rest is for clocks that
 * differ.
 */
const MIN_ORPHAN_AGE_MS = 24 * 3_600_000;

/** Ids of the length of a blob's, of which no order is known beforehand. */
export type RandomHex = () => string;

/**
 * Removes files that no send needs: of a gateway that died between a file and its send, of a process that died between
 * a send's end and its file's, of a send that Redis lost.
 */
export class FileSweep {
  constructor(
    private readonly store: Pick<RelayStore, 'find'>,
    private readonly blobs: BlobStore,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly randomHex: RandomHex,
  ) {}

  /** Looks at some of the files, from a random one on, so that rounds need not know of each other to see them all. */
  async sweep(account: string): Promise<void> {
    for (const { id, storedAt } of await this.some(account)) {
      if (this.clock.now() - storedAt < MIN_ORPHAN_AGE_MS) continue;
      if (await this.isNeeded(account, id)) continue;
      await this.blobs.remove(id);
      this.logger.info({ account, blobId: id }, 'removed a file that no send needs');
    }
  }

  private async some(account: string): Promise<FoundBlob[]> {
    const from = `${account}/blb_${this.randomHex()}`;
    const after = await this.blobs.list(account, from, MAX_PER_ROUND);
    if (after.length === MAX_PER_ROUND) return after;
    const before = await this.blobs.list(account, '', MAX_PER_ROUND - after.length);
    return [...after, ...before.filter(({ id }) => id <= from)];
  }

  /** What is not named as our blobs are is somebody else's: it is left alone. */
  private async isNeeded(account: string, blobId: string): Promise<boolean> {
    const sendId = sendIdOf(blobId.replace(/\.part$/, ''));
    if (sendId === undefined) return true;
    const record = await this.store.find(account, sendId);
    return record?.order.file?.blobId === blobId && needsFile(record.state.status);
  }
}
