/** A message whose flags may still change is read again after this share of its age. */
const SHARE_OF_AGE = 1 / 4;
/** Shortest and longest time until a message whose flags may still change is read again, in milliseconds. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/**
 * Returns the time after which a message of the age `ageMs` is read again, in milliseconds. The age of a message with a
 * time in the future is negative. Applies while the message's flags (`delivered`, `read`) may still change.
 */
export function messageFlagCheckIntervalMs(ageMs: number): number {
  return Math.min(Math.max(Math.abs(ageMs) * SHARE_OF_AGE, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
