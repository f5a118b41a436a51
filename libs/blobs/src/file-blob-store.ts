import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { newId } from '#platform';
import {
  BlobMissingError,
  blobIdPrefixOfAccount,
  type BlobStore,
  BlobStoreUnavailableError,
  type BlobEntry,
  blobIdOfProcessMarker,
  PROCESS_MARKER_PREFIX,
  MAX_LISTED_PROCESS_MARKERS,
  type StoredBlob,
} from './blob-store.js';
import { CountedAndHashedContent } from './counted-and-hashed-content.js';
import { FileCallLimiter, FileCallTimeoutError } from './file-call-limiter.js';

/**
 * Beginning of the names of the test files that {@link FileBlobStore.check} creates and removes. Each process uses a
 * different name, because some network shares refuse to open a file that another process is removing.
 */
const PROBE_PREFIX = '.probe';
/** Age from which a check removes the test file that an interrupted check left behind, in milliseconds. */
const OLD_PROBE_MS = 600_000;
/**
 * Size of the file that a check writes, in bytes. A full file system still stores empty files and very small ones.
 */
const PROBE_BYTES = 262_144;

/**
 * Stores blobs as files in a directory that gateways and workers share, with one subdirectory per account.
 * Each file is written under a temporary name, flushed to disk, and then renamed. So a file with its final
 * name is complete.
 */
export class FileBlobStore implements BlobStore {
  /** All checks of this process use the same name, so that at most one file is left if files cannot be removed. */
  private readonly probeName = `${PROBE_PREFIX}-${newId('blb')}`;

  constructor(
    private readonly directory: string,
    private readonly calls = new FileCallLimiter(),
  ) {}

  async put(account: string, content: Readable, limit: number): Promise<StoredBlob> {
    const measured = new CountedAndHashedContent(content, limit);
    const id = `${blobIdPrefixOfAccount(account)}${newId('blb')}`;
    const partial = `${this.path(id)}.part`;
    const file = await this.create(partial).catch((error: unknown) => {
      throw unavailable(error);
    });
    try {
      for await (const chunk of measured) await this.written(() => file.writeFile(chunk));
      await this.written(() => file.sync());
      await this.written(() => file.close());
      await this.written(() => rename(partial, this.path(id)));
      await this.written(() => syncDirectory(dirname(partial)));
    } catch (error) {
      const discard = async (): Promise<void> => {
        await file.close();
        await rm(partial, { force: true });
      };
      // While the directory hangs, the caller must not wait until the temporary file is removed.
      if (error instanceof FileCallTimeoutError) void this.calls.runLater(discard);
      // If the temporary file cannot be removed now, it is removed later as a file that no send needs. The first
      // error says why the file was not stored.
      else await this.calls.run(discard).catch(() => undefined);
      throw error;
    }
    return { id, ...measured.sizeAndHash() };
  }

  async open(id: string): Promise<Readable> {
    try {
      const file = await this.calls.run(() => open(this.path(id), 'r'), closed);
      return file.createReadStream();
    } catch (error) {
      if (isNotFound(error)) throw new BlobMissingError(id);
      throw unavailable(error);
    }
  }

  async remove(id: string): Promise<void> {
    try {
      await this.calls.run(() => rm(this.path(id), { force: true }));
    } catch (error) {
      throw unavailable(error);
    }
  }

  list(account: string, after: string, count: number): Promise<BlobEntry[]> {
    return this.listUnder(blobIdPrefixOfAccount(account), after, count);
  }

  async writeMarker(name: string): Promise<void> {
    const path = this.path(blobIdOfProcessMarker(name));
    try {
      await this.calls.run(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }));
      await this.calls.run(() => writeFile(path, 'A mark.', { mode: 0o600 }));
    } catch (error) {
      throw unavailable(error);
    }
  }

  async listMarkers(): Promise<BlobEntry[]> {
    const markers = await this.listUnder(PROCESS_MARKER_PREFIX, '', MAX_LISTED_PROCESS_MARKERS);
    return markers.map(({ id, storedAt }) => ({ id: id.slice(PROCESS_MARKER_PREFIX.length), storedAt }));
  }

  async removeMarker(name: string): Promise<void> {
    await this.remove(blobIdOfProcessMarker(name));
  }

  async check(): Promise<void> {
    const probe = this.path(this.probeName);
    try {
      const file = await this.create(probe, 'w');
      try {
        await this.calls.run(() => file.writeFile(randomBytes(PROBE_BYTES)));
        await this.calls.run(() => file.sync());
      } finally {
        await this.calls.run(() => file.close());
      }
      // The directory is usable even if old test files cannot be removed.
      await this.removeOldProbes().catch(() => undefined);
      await this.calls.run(() => rm(probe, { force: true }));
    } catch (error) {
      // A test file that was written in part must not use up the last free space.
      if (!(error instanceof FileCallTimeoutError))
        await this.calls.run(() => rm(probe, { force: true })).catch(() => undefined);
      throw unavailable(error);
    }
  }

  /**
   * Removes the test files that interrupted checks left behind, if they are at least {@link OLD_PROBE_MS} old. Their
   * age is measured up to the time of the test file that this check has just created, which is the current time by
   * the clock of the directory.
   */
  private async removeOldProbes(): Promise<void> {
    const names = (await this.namesIn(this.directory)).filter((name) => name.startsWith(PROBE_PREFIX));
    if (names.length <= 1) return;
    const now = (await this.found(this.probeName))?.storedAt ?? 0;
    for (const name of names) {
      const probe = await this.found(name);
      if (probe !== undefined && now - probe.storedAt >= OLD_PROBE_MS) await this.remove(name);
    }
  }

  private async listUnder(prefix: string, after: string, count: number): Promise<BlobEntry[]> {
    const names = await this.namesIn(this.path(prefix));
    const ids = names.map((name) => prefix + name).filter((id) => id > after);
    const first = ids.sort((a, b) => (a < b ? -1 : 1)).slice(0, count);
    const found: BlobEntry[] = [];
    for (const id of first) {
      const blob = await this.found(id);
      if (blob !== undefined) found.push(blob);
    }
    return found;
  }

  private async create(path: string, flags = 'wx'): Promise<FileHandle> {
    const made = await this.calls.run(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }));
    if (made !== undefined) await this.calls.run(() => syncDirectory(dirname(made)));
    return await this.calls.run(() => open(path, flags, 0o600), closed);
  }

  private async namesIn(directory: string): Promise<string[]> {
    try {
      return await this.calls.run(() => readdir(directory));
    } catch (error) {
      if (isNotFound(error)) return [];
      throw unavailable(error);
    }
  }

  /** Returns the id of a blob and the time when it was stored. Returns undefined if the blob no longer exists. */
  private async found(id: string): Promise<BlobEntry | undefined> {
    try {
      return { id, storedAt: (await this.calls.run(() => stat(this.path(id)))).mtimeMs };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw unavailable(error);
    }
  }

  /** Makes one of the file system calls of an upload. @throws {BlobStoreUnavailableError} */
  private async written(call: () => Promise<unknown>): Promise<void> {
    try {
      await this.calls.run(call);
    } catch (error) {
      // If the temporary file no longer exists, it was removed during the upload, because its account was removed.
      throw unavailable(error);
    }
  }

  private path(id: string): string {
    return join(this.directory, id);
  }
}

const closed = (file: FileHandle): Promise<void> => file.close();

/**
 * Flushes a directory to disk. Without the flush, a power failure may undo a rename or the creation of a
 * directory.
 */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Returns true if an error of the file system means that a file or directory was not found. The check does
 * not use `instanceof`, because Jest runs tests in a separate context, whose `Error` class differs from that
 * of Node's errors.
 */
function isNotFound(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}

function unavailable(cause: unknown): BlobStoreUnavailableError {
  if (cause instanceof BlobStoreUnavailableError) return cause;
  const reason =
    typeof cause === 'object' && cause !== null && 'message' in cause ? String(cause.message) : 'unknown';
  return new BlobStoreUnavailableError(reason, { cause });
}
