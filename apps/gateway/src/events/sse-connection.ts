import type { ServerResponse } from 'node:http';
import { disconnectSignalOf } from '../http/disconnect-signal.js';

/** Time for the client to receive the remaining data when the stream ends, in milliseconds. */
const END_TIMEOUT_MS = 2_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Turns off the response buffering of nginx.
  'x-accel-buffering': 'no',
};

/**
 * HTTP response of an event stream with backpressure: it writes only as fast as the client reads. Nest's `@Sse` has no
 * backpressure, and sends the response head before an invalid cursor can be rejected.
 */
export class SseConnection {
  /** Aborts when the connection to the client is closed, or when the client did not receive a write in time. */
  readonly disconnected: AbortSignal;
  private readonly failing = new AbortController();

  /**
   * @param writeTimeoutMs time for the client to receive a write before it is disconnected, in milliseconds
   * @param closing aborts when the gateway begins to shut down; the timeouts get shorter then
   */
  constructor(
    private readonly raw: ServerResponse,
    private readonly writeTimeoutMs: number,
    private readonly closing: AbortSignal,
  ) {
    this.disconnected = AbortSignal.any([disconnectSignalOf(raw), this.failing.signal]);
    // A write to a connection that was just closed emits an error. `disconnected` already reports the closed connection.
    raw.on('error', () => raw.destroy());
  }

  /** Sends the status 200 and the headers. */
  open(): void {
    if (!this.disconnected.aborted) this.raw.writeHead(200, HEADERS);
  }

  /** Writes a text. Resolves when the client can receive more, or when the connection is closed. */
  async write(text: string): Promise<void> {
    if (this.disconnected.aborted || this.raw.write(text)) return;
    await this.until('drain', this.writeTimeoutMs);
  }

  /** Ends the stream. Resolves when the client has received everything, or when the connection is closed. */
  async end(): Promise<void> {
    if (this.disconnected.aborted) return;
    this.raw.end();
    if (!this.raw.writableFinished) await this.until('finish', END_TIMEOUT_MS);
  }

  /** Resolves at the event or when the connection closes. Closes the connection after a timeout. */
  private until(event: 'drain' | 'finish', ms: number): Promise<void> {
    return new Promise((resolve) => {
      const disconnect = (): void => {
        this.raw.destroy();
        // A response that waits behind an earlier one of the same connection has no socket, and emits no `close`.
        this.failing.abort();
      };
      const shortenTimeout = (): void => {
        clearTimeout(timeout);
        timeout = setTimeout(disconnect, END_TIMEOUT_MS);
      };
      const done = (): void => {
        clearTimeout(timeout);
        this.closing.removeEventListener('abort', shortenTimeout);
        this.raw.off(event, done);
        this.disconnected.removeEventListener('abort', done);
        resolve();
      };
      let timeout = setTimeout(disconnect, this.closing.aborted ? Math.min(ms, END_TIMEOUT_MS) : ms);
      this.closing.addEventListener('abort', shortenTimeout, { once: true });
      this.raw.once(event, done);
      this.disconnected.addEventListener('abort', done, { once: true });
    });
  }
}
