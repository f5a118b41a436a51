import type { SendOrder } from './send-record.js';

/** Interval between two checks of the schedule, in milliseconds. Sends that are due sooner must be announced. */
export const SCHEDULE_SLEEP_MS = 250;

/** The settings of the relay. */
export interface RelaySettings {
  /** Waits between attempts that are safe to retry, in seconds. */
  retryScheduleSeconds: readonly number[];
  /** HTTP statuses that mean: upstream did not accept the send. */
  safeStatuses: readonly number[];
  /** Maximum age of a send that was not relayed, in milliseconds. An older send expires. */
  maxAgeMs: number;
  /**
   * How long to search for an ambiguous send, and to wait for the message of an accepted send, in milliseconds. The
   * first value applies to sends without a file, the second to sends with a file.
   */
  confirmMs: number;
  confirmMediaMs: number;
  /** What to do with an ambiguous send whose message was not found in time. */
  onUnknown: 'hold' | 'resend';
  /**
   * Timeout of one POST, in milliseconds. If a POST lasts longer than the timeout plus a margin, its process counts as
   * dead.
   */
  postTimeoutMs: number;
}

/** Returns how long to search for this send, or to wait for its message, in milliseconds. */
export function confirmationPeriodMs({ file, fileUrl }: SendOrder, settings: RelaySettings): number {
  return file === undefined && fileUrl === undefined ? settings.confirmMs : settings.confirmMediaMs;
}
