import { createHash } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { newId } from '#platform';
import { BlobMissingError, type BlobStore, BlobTooLargeError, type StoredBlob } from './blob-store.js';

/**
 * {@link BlobStore} as files of one directory, which gateway and workers share.
 * A content is written under a temporary name, flushed to the disk, and renamed: a file with its final name is whole.
 */
export class FileBlobStore implements BlobStore {
  constructor(private readonly directory: string) {}

  async put(content: Readable, limit: number): Promise<StoredBlob> {
    // A content that breaks off before it is read would end the process; reading it then fails with its error.
    content.on('error', () => undefined);
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    const id = newId('blb');
    const partial = `${this.path(id)}.part`;
    const digest = createHash('sha256');
    let size = 0;
    const file = await open(partial, 'wx', 0o600);
    try {
      for await (const chunk of content as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > limit) throw new BlobTooLargeError(limit);
        digest.update(chunk);
        await file.writeFile(chunk);
      }
      await file.sync();
      await file.close();
      await rename(partial, this.path(id));
      await this.syncDirectory();
    } catch (error) {
      await file.close();
      await rm(partial, { force: true });
      throw error;
    }
    return { id, size, sha256: digest.digest('hex') };
  }

  async open(id: string): Promise<Readable> {
    try {
      const file = await open(this.path(id), 'r');
      return file.createReadStream();
    } catch (error) {
      if (isMissing(error)) throw new BlobMissingError(id);
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
  }

  /** A rename is only safe from a power loss once its directory is flushed too. */
  private async syncDirectory(): Promise<void> {
    const directory = await open(this.directory, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  private path(id: string): string {
    return join(this.directory, id);
  }
}

/** By shape, not by class: where code runs in a context of its own, Node's errors are of another realm's class. */
function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
