/** Interval between two look-ups of a message, as a share of the message's age. */
const SHARE_OF_AGE = 1 / 4;
/** Bounds of the interval between two look-ups of a message, in milliseconds. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/** Returns the time until the next look-up of an unsettled message of this age, in milliseconds. */
export function lookUpIntervalMs(ageMs: number): number {
  return Math.min(Math.max(ageMs * SHARE_OF_AGE, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
