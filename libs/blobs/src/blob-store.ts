import type { Readable } from 'node:stream';

/** A stored upload. */
export interface StoredBlob {
  /** Begins with its account and a slash. */
  id: string;
  /** Bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** A blob as it is found in the store, whole or the rest of an upload that broke off. */
export interface FoundBlob {
  id: string;
  /** By the store's clock, in milliseconds since 1970. */
  storedAt: number;
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

/** The store cannot be used just now, or not as it is set up; whether the blob is there is not known. */
export class BlobStoreUnavailableError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`The blob store cannot be used: ${reason}`, options);
    this.name = 'BlobStoreUnavailableError';
  }
}

/**
 * Where an upload waits for its relay. Contents are streamed, never held in memory; every call ends in bounded time,
 * as far as the content that is put does not keep it waiting.
 */
export interface BlobStore {
  /**
   * Stores a content; it is safe when this resolves. A content that breaks off leaves nothing behind.
   * @throws {BlobTooLargeError | BlobStoreUnavailableError} and the error of a content that breaks off, as it is
   */
  put(account: string, content: Readable, limit: number): Promise<StoredBlob>;

  /** @throws {BlobMissingError | BlobStoreUnavailableError} */
  open(id: string): Promise<Readable>;

  /**
   * Removes a blob; one that is not there is no fault.
   * @throws {BlobStoreUnavailableError}
   */
  remove(id: string): Promise<void>;

  /**
   * The first `count` blobs of an account in the order of their ids, of those above `after`; at most a thousand.
   * @throws {BlobStoreUnavailableError}
   */
  list(account: string, after: string, count: number): Promise<FoundBlob[]>;

  /**
   * Leaves a mark under this name, or renews it: it tells others who use the same store. Blobs and marks never meet.
   * @param name letters, digits, dots, dashes and underscores
   * @throws {BlobStoreUnavailableError}
   */
  mark(name: string): Promise<void>;

  /** The marks, by their names; at most a thousand. @throws {BlobStoreUnavailableError} */
  marks(): Promise<FoundBlob[]>;

  /** @throws {BlobStoreUnavailableError} */
  unmark(name: string): Promise<void>;

  /**
   * Finds out by a real write.
   * @throws {BlobStoreUnavailableError}
   */
  check(): Promise<void>;
}

/** Where marks are: no account's name begins with a dot. */
export const MARK_PREFIX = '.marks/';
export const MAX_MARKS = 1_000;

/** Where the mark of this name is. */
export function markId(name: string): string {
  // It becomes a file: nothing in it may lead elsewhere.
  if (!/^[\w-][\w.-]*$/.test(name)) throw new Error(`${name} cannot be the name of a mark`);
  return MARK_PREFIX + name;
}

/** The first part of all ids of an account's blobs. */
export function blobPrefix(account: string): string {
  // It becomes a directory: nothing in it may lead elsewhere.
  if (!/^[\w-][\w.-]*$/.test(account)) throw new Error(`${account} cannot be the name of a directory`);
  return `${account}/`;
}
