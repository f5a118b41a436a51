/** Time until the next flag check of a message, as a share of the message's age. */
const SHARE_OF_AGE = 1 / 4;
/** Shortest and longest time until the next flag check of a message, in milliseconds. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/**
 * Returns the time until the next flag check of a message, in milliseconds.
 * @param ageMs age of the message, in milliseconds; negative if the message's timestamp is in the future
 */
export function messageFlagCheckIntervalMs(ageMs: number): number {
  return Math.min(Math.max(Math.abs(ageMs) * SHARE_OF_AGE, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
