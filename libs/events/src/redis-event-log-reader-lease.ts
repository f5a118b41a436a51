import type { AccountKeys } from '#platform';

/** The lease that allows one process to read an account's event log for dispatch. */
export interface ReaderLease {
  token: string;
  /** Time after which the lease ends unless it is renewed, in milliseconds. */
  leaseMs: number;
}

/**
 * Thrown if another process has taken over the lease for reading the event log. That process also handles the
 * events that this process has read but not acknowledged.
 */
export class EventLogReaderLeaseLostError extends Error {
  constructor() {
    super('Another process has taken over the lease for reading the log.');
    this.name = 'EventLogReaderLeaseLostError';
  }
}

/** Returns the Redis key of the lease for reading an account's event log; see {@link ReaderLease}. */
export function eventLogReaderLeaseRedisKey(keys: AccountKeys): string {
  return keys('events', 'reader');
}
