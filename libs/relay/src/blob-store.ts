import type { Readable } from 'node:stream';

/** A stored upload. */
export interface StoredBlob {
  id: string;
  /** Bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** The content was larger than allowed; nothing is kept of it. */
export class BlobTooLargeError extends Error {
  constructor(readonly limit: number) {
    super(`The file is larger than ${limit} bytes.`);
    this.name = 'BlobTooLargeError';
  }
}

/** The blob is not there (any more). */
export class BlobMissingError extends Error {
  constructor(id: string) {
    super(`The file ${id} is not in the blob store (any more).`);
    this.name = 'BlobMissingError';
  }
}

/** Where an upload waits for its relay. Contents are streamed, never held in memory. */
export interface BlobStore {
  /**
   * Stores a content; it is safe on disk when this resolves. A content that breaks off leaves nothing behind.
   * @throws {BlobTooLargeError}
   */
  put(content: Readable, limit: number): Promise<StoredBlob>;

  /** @throws {BlobMissingError} */
  open(id: string): Promise<Readable>;

  /** Removes a blob; one that is not there is no fault. */
  remove(id: string): Promise<void>;
}
