import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 25;

/**
 * The first result of `look` that is neither undefined, null nor false; looks again until the deadline.
 * @param what is awaited, for the words of the failure
 * @param deadlineMs limit for a test that hangs, by default. A test of promptness passes its own limit.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  deadlineMs = 120_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let trouble: unknown;
  do {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== null && seen !== false) return seen;
      trouble = undefined;
    } catch (error) {
      trouble = error;
    }
    await pause(LOOK_EVERY_MS);
  } while (performance.now() < end);
  throw new Error(`not seen within ${deadlineMs} ms: ${what}`, { cause: trouble });
}
