import type { Attention } from './attention.js';

/** Interval at which the use of the page is checked, in milliseconds. */
const CHECK_MS = 30_000;
/** Interval at which the session of a page in use is extended, in milliseconds. */
const KEEP_MS = 120_000;

/**
 * Keeps the session alive while somebody uses the page. Many pages make no requests: they follow a stream, which does
 * not extend a session.
 * @param extend makes a request; its failure is ignored, because another request follows
 * @returns a function that stops the extension of the session
 */
export function keepAlive(
  attention: Pick<Attention, 'isPresent'>,
  extend: () => Promise<unknown>,
): () => void {
  let extendedAt = Date.now();
  const timer = setInterval(() => {
    if (!attention.isPresent || Date.now() - extendedAt < KEEP_MS) return;
    extendedAt = Date.now();
    extend().catch(() => undefined);
  }, CHECK_MS);
  return () => {
    clearInterval(timer);
  };
}
