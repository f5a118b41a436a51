import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts when the connection of a response closes. It is already aborted for a closed connection. */
export function disconnectSignalOf(raw: ServerResponse): AbortSignal {
  const { socket } = raw.req;
  if (raw.destroyed || socket.destroyed) return AbortSignal.abort();
  const aborter = new AbortController();
  const abort = (): void => {
    raw.off('close', abort);
    socket.off('close', abort);
    aborter.abort();
  };
  raw.once('close', abort);
  // A client may send further requests before it gets the response to the first. Node.js 20 does not emit `close` on
  // the responses that still wait for their turn. A connection may have any number of them.
  socket.setMaxListeners(0);
  socket.once('close', abort);
  return aborter.signal;
}
