import { pause } from '#platform';

/** Waits until a look brings something else than undefined, null or false, at most ten seconds, and returns it. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = performance.now() + 10_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`It did not come to this within 10 s: ${what}`);
    await pause(10);
  }
}
