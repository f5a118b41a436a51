import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts when the connection of a response closes. It is already aborted for a closed connection. */
export function disconnectSignalOf(raw: ServerResponse): AbortSignal {
  const aborter = new AbortController();
  whenClosed(raw, () => {
    aborter.abort();
  });
  return aborter.signal;
}

/**
 * Calls the function once, when a response was sent or its connection closes. Calls it immediately if this has
 * already happened.
 */
export function whenClosed(raw: ServerResponse, closed: () => void): void {
  const { socket } = raw.req;
  // `close` is not emitted again.
  if (raw.destroyed || socket.destroyed) {
    closed();
    return;
  }
  let isClosed = false;
  const close = (): void => {
    // Both events call this function if the connection closes before the response is sent.
    if (isClosed) return;
    isClosed = true;
    raw.off('close', close);
    socket.off('close', close);
    closed();
  };
  raw.once('close', close);
  // A client may send further requests before it gets the response to the first. Node.js 20 does not emit `close` on
  // the responses that still wait for their turn. A connection may have any number of them.
  socket.setMaxListeners(0);
  socket.once('close', close);
}
