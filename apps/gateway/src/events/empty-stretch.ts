import { pause } from '#platform';

/** The shortest rest, and the longest, in milliseconds. */
const REST_MS = { least: 10, most: 1_000 };

/** A rest is so many times as long as the read before it took, so that a Redis that is busy is asked less often. */
const REST_PER_READ = 4;

/**
 * Rests after a page that a filter left empty although more is there: hundreds of callers may pass over the same long
 * log, on the one connection that everything else of this gateway has to share with them. Ends early when `stop` aborts.
 * @param readMs how long it took to read the page
 * @param atMost milliseconds that the caller still has
 */
export async function restAfterEmptyPage(
  readMs: number,
  stop: AbortSignal,
  atMost = Infinity,
): Promise<void> {
  const rest = Math.min(REST_MS.most, Math.max(REST_MS.least, REST_PER_READ * readMs));
  await pause(Math.max(0, Math.min(rest, atMost)), stop);
}
