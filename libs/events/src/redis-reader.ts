import type { AccountKeys } from '#platform';

/** The lease of the process that reads the log for dispatch. */
export interface ReaderLease {
  token: string;
  /** Time from the last use to the end of the lease, in milliseconds. */
  leaseMs: number;
}

/** Another process has taken over the lease for reading the log, and processes the events that this process read. */
export class ReaderLeaseLostError extends Error {
  constructor() {
    super('Another process has taken over the lease for reading the log.');
    this.name = 'ReaderLeaseLostError';
  }
}

/** Returns the Redis key of the lease. */
export function readerLeaseKey(keys: AccountKeys): string {
  return keys('events', 'reader');
}
