import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UpstreamReplyUnreadableError } from '../upstream-error.js';

/** Number of bytes of stored texts above which the texts are moved from memory to a file. */
const MEMORY_BYTES = 4 * 1024 * 1024;
/** Approximate number of bytes that are written to the temporary file, or read from the temporary file, at once. */
const BATCH_BYTES = 64 * 1024;

/**
 * The JSON text of an element of a list in a reply. A reply may contain several lists. `list`: index of the list in
 * the reply, from 0. `position`: position of the element in the list.
 */
export interface StoredReplyElement {
  list: number;
  position: number;
  text: Buffer;
}

/**
 * Stores the texts of elements of an upstream reply until they are read again: in memory, or in a temporary file if
 * they are larger than {@link MEMORY_BYTES} in total. The file is unlinked at once (its name is removed from the
 * folder), so that the operating system deletes the file even if the process is killed.
 */
export class TemporaryReplyElementStore {
  private readonly lists: number[] = [];
  private readonly positions: number[] = [];
  /**
   * For each stored element, the offset in bytes at which its text ends, counted from the beginning of the first
   * text.
   */
  private readonly ends: number[] = [];
  private bytes = 0;
  /** The stored texts that have not been moved to the temporary file. */
  private inMemory: Buffer[] = [];
  private memoryBytes = 0;
  private file: FileHandle | undefined;
  private fileBytes = 0;

  /** @param directory folder in which the file is created */
  constructor(private readonly directory = tmpdir()) {}

  /** Stores a copy of a text in memory. Call {@link flush} regularly to move the stored texts to the file. */
  add({ list, position, text }: StoredReplyElement): void {
    this.lists.push(list);
    this.positions.push(position);
    this.bytes += text.length;
    this.ends.push(this.bytes);
    this.inMemory.push(Buffer.from(text));
    this.memoryBytes += text.length;
  }

  /**
   * Moves the texts in memory to the file if they take too much memory.
   * @throws {UpstreamReplyUnreadableError} if the file cannot be written
   */
  async flush(): Promise<void> {
    if (this.memoryBytes <= (this.file === undefined ? MEMORY_BYTES : BATCH_BYTES)) return;
    await this.withReplyError(async () => {
      this.file ??= await openUnlinked(this.directory);
      const { bytesWritten } = await this.file.write(Buffer.concat(this.inMemory), 0, null, this.fileBytes);
      if (bytesWritten !== this.memoryBytes) throw new Error('not everything was written');
    });
    this.fileBytes += this.memoryBytes;
    this.inMemory = [];
    this.memoryBytes = 0;
  }

  /**
   * Yields all stored elements in batches, in the order in which they were added.
   * @throws {UpstreamReplyUnreadableError} if the temporary file cannot be read
   */
  async *read(): AsyncGenerator<StoredReplyElement[]> {
    for (let from = 0; from < this.ends.length;) {
      const begin = this.beginOf(from);
      let to = from + 1;
      while ((this.ends[to] ?? Infinity) - begin <= BATCH_BYTES) to += 1;
      const bytes = await this.bytesAt(begin, this.beginOf(to));
      const batch: StoredReplyElement[] = [];
      for (let i = from; i < to; i += 1) {
        const text = bytes.subarray(this.beginOf(i) - begin, this.beginOf(i + 1) - begin);
        batch.push({ list: this.lists[i] ?? 0, position: this.positions[i] ?? 0, text });
      }
      yield batch;
      from = to;
    }
  }

  async close(): Promise<void> {
    this.inMemory = [];
    await this.file?.close();
    this.file = undefined;
  }

  private beginOf(index: number): number {
    return this.ends[index - 1] ?? 0;
  }

  private async bytesAt(from: number, to: number): Promise<Buffer> {
    const file = this.file;
    const parts: Buffer[] = [];
    if (file !== undefined && from < this.fileBytes) {
      const part = Buffer.allocUnsafe(Math.min(to, this.fileBytes) - from);
      await this.withReplyError(async () => {
        const { bytesRead } = await file.read(part, 0, part.length, from);
        if (bytesRead !== part.length) throw new Error('not everything could be read');
      });
      parts.push(part);
    }
    if (to > this.fileBytes) {
      this.joinMemory();
      parts.push(
        ...this.inMemory.map((all) => all.subarray(Math.max(0, from - this.fileBytes), to - this.fileBytes)),
      );
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  private joinMemory(): void {
    if (this.inMemory.length > 1) this.inMemory = [Buffer.concat(this.inMemory)];
  }

  private async withReplyError(use: () => Promise<void>): Promise<void> {
    try {
      await use();
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause);
      throw new UpstreamReplyUnreadableError(
        `a part of the reply could not be stored in ${this.directory}: ${words}`,
        {
          cause,
        },
      );
    }
  }
}

/** Opens a new file and removes its name from the folder, so that only this process can reach the file. */
async function openUnlinked(parent: string): Promise<FileHandle> {
  const directory = await mkdtemp(join(parent, 'tidings-list-'));
  try {
    return await open(join(directory, 'kept'), 'wx+', 0o600);
  } finally {
    await rm(directory, { recursive: true });
  }
}
