import type { LiveEvents } from './live-events.js';

/** Time for which a page is hidden before its stream is closed, in milliseconds. */
const HIDDEN_MS = 10_000;

/**
 * Closes the stream while the page is hidden. Over HTTP/1.1, browsers open only six connections to a host, for all
 * tabs together: six hidden tabs would block every request.
 * @returns a function that stops watching whether the page is hidden
 */
export function pauseWhileHidden(
  page: Pick<Document, 'hidden' | 'addEventListener' | 'removeEventListener'>,
  live: Pick<LiveEvents, 'pause' | 'resume'>,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = (): void => {
    clearTimeout(timer);
    if (!page.hidden) live.resume();
    else
      timer = setTimeout(() => {
        live.pause();
      }, HIDDEN_MS);
  };
  page.addEventListener('visibilitychange', check);
  check();
  return () => {
    clearTimeout(timer);
    page.removeEventListener('visibilitychange', check);
  };
}
