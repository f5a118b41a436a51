import type { AccountKeys } from '#platform';

/** The token of the one who reads the log for dispatch, and until when. */
export interface ReaderLease {
  token: string;
  /** How long it lasts from each use, in ms. */
  leaseMs: number;
}

/** Somebody else reads the log by now: what was read is theirs. */
export class ReaderLeaseLostError extends Error {
  constructor() {
    super('Another process reads the log by now.');
    this.name = 'ReaderLeaseLostError';
  }
}

/** Where the lease is kept. */
export function readerLeaseKey(keys: AccountKeys): string {
  return keys('events', 'reader');
}
