import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { BlobTooLargeError } from './blob-store.js';

/** Content that is being written to a blob store. Counts and hashes the bytes while they are written. */
export class MeasuredContent implements AsyncIterable<Buffer> {
  private bytes = 0;
  private readonly digest = createHash('sha256');

  /** @param limit maximum size in bytes */
  constructor(
    private readonly content: Readable,
    private readonly limit: number,
  ) {
    // An unhandled error of the content would end the process. Reading the content later throws the same error.
    content.on('error', () => undefined);
  }

  /** @throws {BlobTooLargeError} and the content's own error if the content is interrupted */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of this.content as AsyncIterable<Buffer>) {
      this.bytes += chunk.length;
      if (this.bytes > this.limit) throw new BlobTooLargeError(this.limit);
      this.digest.update(chunk);
      yield chunk;
    }
  }

  /** Returns the size in bytes and the digest of the whole content. Call once, after the content was read. */
  measure(): { size: number; sha256: string } {
    return { size: this.bytes, sha256: this.digest.digest('hex') };
  }
}
