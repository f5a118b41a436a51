/** Length of a time slot in which delays are counted, in milliseconds. A slot expires as a whole. */
const SLOT_MS = 300_000;
/** Maximum length of the window, in milliseconds: the current slot and the slots before it that fit. */
export const DELAY_WINDOW_MS = 3_600_000;
/** Time to live of a slot after its last delay, in milliseconds; longer than any window that includes the slot. */
export const SLOT_TTL_MS = DELAY_WINDOW_MS + 2 * SLOT_MS;

/** Returns the slot of a time given in milliseconds since 1970. */
export function delaySlotOf(ms: number): number {
  return Math.floor(ms / SLOT_MS);
}

/** Returns the slots of the window that ends now. No delay in them is older than {@link DELAY_WINDOW_MS}. */
export function delaySlotsOfWindow(now: number): number[] {
  const current = delaySlotOf(now);
  return Array.from({ length: DELAY_WINDOW_MS / SLOT_MS }, (_, n) => current - n);
}
