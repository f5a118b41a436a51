import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UpstreamReplyError } from '../upstream-error.js';

/** So much is kept in memory; what comes after it goes to a file. In bytes. */
const MEMORY_BYTES = 4 * 1024 * 1024;
/** So much is written, and read, at once; in bytes. */
const BATCH_BYTES = 64 * 1024;

/** A text that is kept, and the two numbers that it was given with. */
export interface KeptText {
  list: number;
  position: number;
  text: Buffer;
}

/**
 * Keeps texts aside until they are read again: little in memory, all else in a file of `os.tmpdir()`. The file has no name
 * there: it is gone with the process, however that ends.
 */
export class KeptTexts {
  private readonly lists: number[] = [];
  private readonly positions: number[] = [];
  /** Where each ends, by its number; the next one begins there. */
  private readonly ends: number[] = [];
  private bytes = 0;
  /** What is not in the file: all of it while there is none, then what is to be written next. */
  private inMemory: Buffer[] = [];
  private memoryBytes = 0;
  private file: FileHandle | undefined;
  private fileBytes = 0;

  /** @param directory where the file is made */
  constructor(private readonly directory = tmpdir()) {}

  /** Adds a copy. {@link settle} after adding some. */
  add({ list, position, text }: KeptText): void {
    this.lists.push(list);
    this.positions.push(position);
    this.bytes += text.length;
    this.ends.push(this.bytes);
    this.inMemory.push(Buffer.from(text));
    this.memoryBytes += text.length;
  }

  /** Moves what is too much for memory to the file. @throws {UpstreamReplyError} if it cannot be written */
  async settle(): Promise<void> {
    if (this.memoryBytes <= (this.file === undefined ? MEMORY_BYTES : BATCH_BYTES)) return;
    await this.stored(async () => {
      this.file ??= await openNameless(this.directory);
      const { bytesWritten } = await this.file.write(Buffer.concat(this.inMemory), 0, null, this.fileBytes);
      if (bytesWritten !== this.memoryBytes) throw new Error('not everything was written');
    });
    this.fileBytes += this.memoryBytes;
    this.inMemory = [];
    this.memoryBytes = 0;
  }

  /** All that is kept, in the order in which it came, some at a time. @throws {UpstreamReplyError} if it cannot be read */
  async *read(): AsyncGenerator<KeptText[]> {
    for (let from = 0; from < this.ends.length;) {
      const begin = this.beginOf(from);
      let to = from + 1;
      while ((this.ends[to] ?? Infinity) - begin <= BATCH_BYTES) to += 1;
      const bytes = await this.bytesAt(begin, this.beginOf(to));
      const batch: KeptText[] = [];
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
      await this.stored(async () => {
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

  private async stored(use: () => Promise<void>): Promise<void> {
    try {
      await use();
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause);
      throw new UpstreamReplyError(`a part of it could not be kept in ${this.directory}: ${words}`, {
        cause,
      });
    }
  }
}

/** A file that only this process can reach. */
async function openNameless(parent: string): Promise<FileHandle> {
  const directory = await mkdtemp(join(parent, 'tidings-list-'));
  try {
    return await open(join(directory, 'kept'), 'wx+', 0o600);
  } finally {
    await rm(directory, { recursive: true });
  }
}
