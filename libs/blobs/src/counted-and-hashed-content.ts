import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { BlobTooLargeError } from './blob-store.js';

/** Passes on the content of a file that is being stored, and counts and hashes its bytes. */
export class CountedAndHashedContent implements AsyncIterable<Buffer> {
  private bytes = 0;
  private readonly digest = createHash('sha256');

  /** @param limit maximum size in bytes */
  constructor(
    private readonly content: Readable,
    private readonly limit: number,
  ) {
    // Without this listener, an `error` event of the content stream would end the process. No error is lost: reading
    // the content later throws the same error.
    content.on('error', () => undefined);
  }

  /**
   * Yields the content in chunks.
   * @throws {BlobTooLargeError} if the content exceeds the limit; if the content stream fails, the stream's error
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of this.content as AsyncIterable<Buffer>) {
      this.bytes += chunk.length;
      if (this.bytes > this.limit) throw new BlobTooLargeError(this.limit);
      this.digest.update(chunk);
      yield chunk;
    }
  }

  /**
   * Returns the size in bytes and the SHA-256 hash (in hexadecimal) of the whole content. Call this method only
   * once, after all content was read.
   */
  sizeAndHash(): { size: number; sha256: string } {
    return { size: this.bytes, sha256: this.digest.digest('hex') };
  }
}
