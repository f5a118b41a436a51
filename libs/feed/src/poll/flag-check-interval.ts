/** Time until a message whose flags may still change is read again, as a share of the message's age. */
const SHARE_OF_AGE = 1 / 4;
/** Shortest and longest time until a message whose flags may still change is read again, in milliseconds. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/**
 * Returns the time until a message whose flags (`delivered`, `read`) may still change is read again, in
 * milliseconds. `ageMs` is the age of the message; it is negative if the message's timestamp is in the future.
 */
export function messageFlagCheckIntervalMs(ageMs: number): number {
  return Math.min(Math.max(Math.abs(ageMs) * SHARE_OF_AGE, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
