import type { SendOrder } from './send-record.js';

/** Maximum time between two checks for scheduled sends that are due, in milliseconds. */
export const SCHEDULED_SENDS_CHECK_INTERVAL_MS = 5_000;

/** The settings of the relay. */
export interface RelaySettings {
  /** Delay before each retry of a send that upstream certainly did not accept, in seconds. The last delay repeats. */
  retryScheduleSeconds: readonly number[];
  /** HTTP statuses that mean that upstream did not accept the send. A retry is then safe. */
  safeStatuses: readonly number[];
  /** Maximum time that a send may wait to be relayed, in milliseconds. After that time, the send expires. */
  maxAgeMs: number;
  /**
   * How long to look up a send whose POST had no clear outcome, and to wait for the message of an accepted send, in
   * milliseconds. Applies to sends without a file.
   */
  confirmMs: number;
  /**
   * For sends with a file: how long to look up a send whose POST had no clear outcome, and to wait for the message of
   * an accepted send, in milliseconds.
   */
  confirmMediaMs: number;
  /**
   * What to do with a send whose POST had no clear outcome and whose message was not found in time. `hold`: set the
   * send to `unknown`. `resend`: post the send again, but only once.
   */
  onUnknown: 'hold' | 'resend';
  /**
   * Timeout of one POST, in milliseconds. If a POST lasts longer than the timeout plus a margin, other workers assume
   * that the posting process has died.
   */
  postTimeoutMs: number;
  /** Replaces the duration of the lease of a look-up in tests, in milliseconds. */
  lookupLeaseMs?: number;
  /** Replaces the wait times before consecutive look-ups of a send in tests, in milliseconds. */
  lookupWaitsMs?: readonly number[];
  /** Replaces the time by which the lease of a POST is longer than its timeout in tests, in milliseconds. */
  postLeaseMarginMs?: number;
}

/** Returns a send's confirmation period: how long it is looked up after its POST, in milliseconds. */
export function confirmationPeriodMs({ file, fileUrl }: SendOrder, settings: RelaySettings): number {
  return file === undefined && fileUrl === undefined ? settings.confirmMs : settings.confirmMediaMs;
}

/** Time by which the lease of a POST is longer than the timeout of the POST, in milliseconds. */
const LEASE_MARGIN_MS = 5_000;

/** Returns the duration of the lease for the POST of a send, in milliseconds. The POST ends within this time. */
export function postRequestLeaseMs({
  postTimeoutMs,
  postLeaseMarginMs = LEASE_MARGIN_MS,
}: Pick<RelaySettings, 'postTimeoutMs' | 'postLeaseMarginMs'>): number {
  return postTimeoutMs + postLeaseMarginMs;
}
