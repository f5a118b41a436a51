/** Delays are counted by slots of so long; the whole of a slot is forgotten together. In milliseconds. */
const SLOT_MS = 300_000;
/** What the window covers at most, in milliseconds: the running slot and as many before it as fit. */
export const WINDOW_MS = 3_600_000;
/** A slot is kept for so long after its last delay: longer than it can be asked for. In milliseconds. */
export const SLOT_LIFE_MS = WINDOW_MS + 2 * SLOT_MS;

/** The slot of a moment, in milliseconds since 1970. */
export function slotOf(ms: number): number {
  return Math.floor(ms / SLOT_MS);
}

/** The slots of the window that ends now: nothing in them is older than {@link WINDOW_MS}. */
export function slotsOfWindow(now: number): number[] {
  const current = slotOf(now);
  return Array.from({ length: WINDOW_MS / SLOT_MS }, (_, n) => current - n);
}
