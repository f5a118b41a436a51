import type { Readable } from 'node:stream';

/** An uploaded file that is stored completely. */
export interface StoredBlob {
  /** Id of the blob: the id of the account, a slash, and a unique name. */
  id: string;
  /** Size of the file, in bytes. */
  size: number;
  /** SHA-256 hash of the file, in hexadecimal. */
  sha256: string;
}

/**
 * A blob as the store lists it: a complete file, or the temporary file of an upload that is in progress or was
 * interrupted. Also used for the markers of processes.
 */
export interface BlobEntry {
  id: string;
  /** When the blob was stored, in milliseconds since 1970 by the store's clock. */
  storedAt: number;
}

/** Thrown when a file is larger than the limit. The file is then not stored. */
export class BlobTooLargeError extends Error {
  constructor(readonly limit: number) {
    super(`The file is larger than ${limit} bytes.`);
    this.name = 'BlobTooLargeError';
  }
}

/** Thrown when a blob is not found in the store. */
export class BlobMissingError extends Error {
  constructor(id: string) {
    super(`The file ${id} was not found in the blob store.`);
    this.name = 'BlobMissingError';
  }
}

/** Thrown when the blob store is unavailable or misconfigured. It is then unknown whether a blob exists. */
export class BlobStoreUnavailableError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`The blob store cannot be used: ${reason}`, options);
    this.name = 'BlobStoreUnavailableError';
  }
}

/**
 * Stores uploaded files until they are relayed. Files are streamed and never loaded into memory as a whole. Every
 * call ends within a limited time. Exception: {@link put} takes as long as content keeps arriving. If the store is a
 * directory on a network share that hangs, reading the content of an opened file may never end.
 */
export interface BlobStore {
  /**
   * Stores a file. When the promise resolves, the file is stored permanently. If the promise rejects, the store has
   * tried to remove what was written of the file; the rest is left for a later clean-up.
   * @param limit maximum size in bytes
   * @throws {BlobTooLargeError | BlobStoreUnavailableError} or the error of the stream `content`
   */
  put(account: string, content: Readable, limit: number): Promise<StoredBlob>;

  /**
   * Returns the content of a blob.
   * @throws {BlobMissingError} if the blob does not exist
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  open(id: string): Promise<Readable>;

  /**
   * Removes a blob. Succeeds even if the blob does not exist.
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  remove(id: string): Promise<void>;

  /**
   * Lists blobs of an account, ordered by id: the first `count` blobs whose id is greater than `after`.
   * @param after id of a blob, or '' to begin with the first blob
   * @param count maximum number of blobs; must not be above 1,000
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  list(account: string, after: string, count: number): Promise<BlobEntry[]>;

  /**
   * Writes or renews the marker of a process. The marker shows other processes that the process uses this store.
   * Markers are not listed as blobs.
   * @param name name of the process; consists of letters, digits, dots, dashes and underscores
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  writeMarker(name: string): Promise<void>;

  /**
   * Returns the markers of processes, at most {@link MAX_LISTED_PROCESS_MARKERS}. The `id` of an entry is the
   * name of the process.
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  listMarkers(): Promise<BlobEntry[]>;

  /**
   * Removes the marker of a process. Succeeds even if there is no such marker.
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  removeMarker(name: string): Promise<void>;

  /**
   * Checks that the store is usable: writes and removes a test file.
   * @throws {BlobStoreUnavailableError} if the store cannot be used
   */
  check(): Promise<void>;
}

/**
 * Prefix of the ids of process markers. The id of an uploaded file starts with the id of its account, and no account
 * id starts with a dot, so no uploaded file has this prefix.
 */
export const PROCESS_MARKER_PREFIX = '.marks/';
/** Maximum number of markers that {@link BlobStore.listMarkers} returns. */
export const MAX_LISTED_PROCESS_MARKERS = 1_000;

/** Returns the id under which the marker of a process is stored. */
export function blobIdOfProcessMarker(processName: string): string {
  // The name of the process becomes a file name, so it must not contain a path.
  if (!/^[\w-][\w.-]*$/.test(processName))
    throw new Error(`invalid name of a process marker: ${processName}`);
  return PROCESS_MARKER_PREFIX + processName;
}

/** Returns the text with which the ids of all blobs of an account start. */
export function blobIdPrefixOfAccount(account: string): string {
  // The id of the account becomes a directory name, so it must not contain a path.
  if (!/^[\w-][\w.-]*$/.test(account)) throw new Error(`invalid name of a directory: ${account}`);
  return `${account}/`;
}
