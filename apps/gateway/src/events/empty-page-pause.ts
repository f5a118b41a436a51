import { pause } from '#platform';

/** Minimum and maximum length of a pause, in milliseconds. */
const PAUSE_MS = { min: 10, max: 1_000 };

/** Ratio of a pause to the read before it. A busy Redis takes longer to read, and so is read less often. */
const PAUSE_PER_READ = 4;

/**
 * Pauses after a page without matching events in the middle of the log. Hundreds of callers may scan the same long log
 * through the only Redis connection of this gateway; the pause leaves time for other commands.
 * @param readMs duration of the read of the page, in milliseconds
 * @param stop ends the pause early
 * @param atMost maximum length of the pause, in milliseconds
 */
export async function pauseAfterEmptyPage(
  readMs: number,
  stop: AbortSignal,
  atMost = Infinity,
): Promise<void> {
  const ms = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, PAUSE_PER_READ * readMs));
  await pause(Math.max(0, Math.min(ms, atMost)), stop);
}
