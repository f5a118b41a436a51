import type { ServerResponse } from 'node:http';

/** Aborts when the connection of a reply closes; at once if that has happened already. */
export function hangUpOf(raw: ServerResponse): AbortSignal {
  if (raw.destroyed) return AbortSignal.abort();
  const aborter = new AbortController();
  raw.once('close', () => {
    aborter.abort();
  });
  return aborter.signal;
}
