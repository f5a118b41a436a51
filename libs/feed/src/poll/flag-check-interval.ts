/** A message whose flags may still change is read again after this share of its age. */
const SHARE_OF_AGE = 1 / 4;
/** Shortest and longest time until a message whose flags may still change is read again, in milliseconds. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 3_600_000;

/**
 * Returns after how long a message of this age is read again while its flags (`delivered`, `read`) may still
 * change. Both times are in milliseconds.
 */
export function messageFlagCheckIntervalMs(ageMs: number): number {
  return Math.min(Math.max(ageMs * SHARE_OF_AGE, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
