import type { Readable } from 'node:stream';

/** A stored upload. */
export interface StoredBlob {
  /** Id of the blob; starts with the account and a slash. */
  id: string;
  /** Size in bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** A blob in the store: complete, or the rest of an interrupted upload. */
export interface BlobEntry {
  id: string;
  /** Time of storage, in milliseconds since 1970 by the store's clock. */
  storedAt: number;
}

/** The content was larger than the limit; nothing of it is stored. */
export class BlobTooLargeError extends Error {
  constructor(readonly limit: number) {
    super(`The file is larger than ${limit} bytes.`);
    this.name = 'BlobTooLargeError';
  }
}

/** The blob was not found in the store. */
export class BlobMissingError extends Error {
  constructor(id: string) {
    super(`The file ${id} was not found in the blob store.`);
    this.name = 'BlobMissingError';
  }
}

/** The store is unavailable or misconfigured. Whether the blob exists is not known. */
export class BlobStoreUnavailableError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`The blob store cannot be used: ${reason}`, options);
    this.name = 'BlobStoreUnavailableError';
  }
}

/**
 * Stores uploads until their relay. Contents are streamed and never loaded into memory as a whole. Every call
 * ends within a bounded time, except for the time that a given content needs to arrive.
 */
export interface BlobStore {
  /**
   * Stores a content. When the promise resolves, the content is durable. An interrupted content leaves nothing
   * behind.
   * @param limit maximum size in bytes
   * @throws {BlobTooLargeError | BlobStoreUnavailableError} and the content's own error if the content is
   * interrupted
   */
  put(account: string, content: Readable, limit: number): Promise<StoredBlob>;

  /** @throws {BlobMissingError | BlobStoreUnavailableError} */
  open(id: string): Promise<Readable>;

  /**
   * Removes a blob. A missing blob is no error.
   * @throws {BlobStoreUnavailableError}
   */
  remove(id: string): Promise<void>;

  /**
   * Returns the first `count` blobs of an account with ids above `after`, ordered by id. At most 1,000.
   * @throws {BlobStoreUnavailableError}
   */
  list(account: string, after: string, count: number): Promise<BlobEntry[]>;

  /**
   * Writes or renews a mark, which shows other processes that this process uses the store. Marks are not blobs.
   * @param name letters, digits, dots, dashes and underscores
   * @throws {BlobStoreUnavailableError}
   */
  mark(name: string): Promise<void>;

  /**
   * Returns at most 1,000 marks, with their names as ids.
   * @throws {BlobStoreUnavailableError}
   */
  marks(): Promise<BlobEntry[]>;

  /** @throws {BlobStoreUnavailableError} */
  unmark(name: string): Promise<void>;

  /**
   * Checks with a real write that the store is usable.
   * @throws {BlobStoreUnavailableError}
   */
  check(): Promise<void>;
}

/** Prefix of the ids of marks. No account's name starts with a dot. */
export const MARK_PREFIX = '.marks/';
export const MAX_PROCESS_MARKS = 1_000;

/** Returns the id of a mark. */
export function processMarkId(name: string): string {
  // The name becomes a file name, so it must not contain a path.
  if (!/^[\w-][\w.-]*$/.test(name)) throw new Error(`invalid name of a mark: ${name}`);
  return MARK_PREFIX + name;
}

/** Returns the prefix of the ids of an account's blobs. */
export function blobPrefix(account: string): string {
  // The account becomes a directory name, so it must not contain a path.
  if (!/^[\w-][\w.-]*$/.test(account)) throw new Error(`invalid name of a directory: ${account}`);
  return `${account}/`;
}
