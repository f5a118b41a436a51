/**
 * Length of the time slots in which delays are counted, in milliseconds. All delays of a time slot expire
 * together.
 */
const SLOT_MS = 300_000;
/**
 * Maximum age of the delays that the statistics include, in milliseconds. The statistics cover the current
 * time slot and the eleven slots before it.
 */
export const DELAY_STATISTICS_MAX_AGE_MS = 3_600_000;
/**
 * Redis removes a time slot this many milliseconds after the last detection delay was recorded in the time
 * slot. By then, the delay statistics no longer include the time slot.
 */
export const DELAY_STATISTICS_SLOT_TTL_MS = DELAY_STATISTICS_MAX_AGE_MS + 2 * SLOT_MS;

/** Returns the number of the time slot that contains a time given in milliseconds since 1970. */
export function timeSlotNumberAt(ms: number): number {
  return Math.floor(ms / SLOT_MS);
}

/**
 * Returns the numbers of the time slots that the statistics include at the time `now` (milliseconds since
 * 1970). No delay in these slots is older than {@link DELAY_STATISTICS_MAX_AGE_MS}.
 */
export function timeSlotNumbersOfLastHour(now: number): number[] {
  const current = timeSlotNumberAt(now);
  return Array.from({ length: DELAY_STATISTICS_MAX_AGE_MS / SLOT_MS }, (_, n) => current - n);
}
