import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { BlobTooLargeError } from './blob-store.js';

/** A content on its way into a store: counted and hashed as it passes. */
export class MeasuredContent implements AsyncIterable<Buffer> {
  private bytes = 0;
  private readonly digest = createHash('sha256');

  /** @param limit the most bytes that it may have */
  constructor(
    private readonly content: Readable,
    private readonly limit: number,
  ) {
    // A content that breaks off before it is read would end the process; reading it then fails with its error.
    content.on('error', () => undefined);
  }

  /** @throws {BlobTooLargeError} and whatever the content breaks off with */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of this.content as AsyncIterable<Buffer>) {
      this.bytes += chunk.length;
      if (this.bytes > this.limit) throw new BlobTooLargeError(this.limit);
      this.digest.update(chunk);
      yield chunk;
    }
  }

  /** What passed, once all has: to be called once. */
  measure(): { size: number; sha256: string } {
    return { size: this.bytes, sha256: this.digest.digest('hex') };
  }
}
