import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts when the connection of a response closes. It is already aborted for a closed connection. */
export function disconnectSignalOf(raw: ServerResponse): AbortSignal {
  if (raw.destroyed) return AbortSignal.abort();
  const aborter = new AbortController();
  raw.once('close', () => {
    aborter.abort();
  });
  return aborter.signal;
}
