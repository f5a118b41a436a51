import type { Attention } from './attention.js';

/** Time between two looks at whether somebody uses the page, in milliseconds. */
const CHECK_MS = 30_000;
/** Time after which the session of a page that is used is extended again, in milliseconds. */
const KEEP_MS = 120_000;

/**
 * Keeps the session alive while somebody uses the page. Many pages make no requests: they follow a stream, which does
 * not extend a session.
 * @param extend makes a request. Its failure is ignored: the next one follows
 * @returns a function that ends this
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
