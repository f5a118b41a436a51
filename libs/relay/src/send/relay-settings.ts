import type { SendOrder } from './send-record.js';

/** The schedule is looked at this often, in milliseconds; of what is due sooner its watchers must be told. */
export const SCHEDULE_SLEEP_MS = 250;

/** How sends are relayed. */
export interface RelaySettings {
  /** Waits between attempts that are safe to repeat. */
  retryScheduleSeconds: readonly number[];
  /** Statuses known to mean that upstream did not take the send. */
  safeStatuses: readonly number[];
  /** A send not relayed by then is expired. */
  maxAgeMs: number;
  /** How long an ambiguous send is looked for, and an accepted one expected; the second for sends with a file. */
  confirmMs: number;
  confirmMediaMs: number;
  /** What becomes of an ambiguous send that was not found in that time. */
  onUnknown: 'hold' | 'resend';
  /** Deadline of one POST; a POST that was begun longer ago, and a margin, has no living process behind it. */
  postTimeoutMs: number;
}

/** How long this send is looked for or expected, in milliseconds. */
export function confirmationPeriodMs({ file, fileUrl }: SendOrder, settings: RelaySettings): number {
  return file === undefined && fileUrl === undefined ? settings.confirmMs : settings.confirmMediaMs;
}
