import { setTimeout as pause } from 'node:timers/promises';

const CHECK_INTERVAL_MS = 25;
/** A long wait is checked less often, because each check costs time of the processor that others need. */
const MAX_CHECK_INTERVAL_MS = 100;

/**
 * Calls `look` repeatedly until its result is neither undefined, null nor false, and returns the result.
 * @param what description of what is awaited, for the error message
 * @param deadlineMs the default is for tests that hang; a test of promptness passes a shorter time
 * @throws {Error} after the deadline
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  deadlineMs = 120_000,
): Promise<T> {
  const began = performance.now();
  const end = began + deadlineMs;
  let trouble: unknown;
  do {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== null && seen !== false) return seen;
      trouble = undefined;
    } catch (error) {
      trouble = error;
    }
    const waitedMs = performance.now() - began;
    await pause(Math.min(Math.max(CHECK_INTERVAL_MS, waitedMs / 20), MAX_CHECK_INTERVAL_MS));
  } while (performance.now() < end);
  throw new Error(`not reached within ${deadlineMs} ms: ${what}`, { cause: trouble });
}
