import type { ServerResponse } from 'node:http';
import { hangUpOf } from '../http/hang-up.js';

/** Once the stream is to end, what the client still has to take must be taken by then, in milliseconds. */
const END_WITHIN_MS = 2_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // nginx would collect it into buffers.
  'x-accel-buffering': 'no',
};

/**
 * One client's stream, written to no faster than the client takes it. Nest's own `@Sse` would push: it writes whatever
 * its observable gives, however slow the client, and its head is out before a cursor could be refused.
 */
export class SseConnection {
  /** Aborts when the client has hung up or was cut off. */
  readonly gone: AbortSignal;

  /**
   * @param takeMs a client that does not take what it was sent within this time is cut off
   * @param closing aborts when the stream shall end soon
   */
  constructor(
    private readonly raw: ServerResponse,
    private readonly takeMs: number,
    private readonly closing: AbortSignal,
  ) {
    this.gone = hangUpOf(raw);
    // A write that comes upon a connection just cut: `gone` tells of it.
    raw.on('error', () => raw.destroy());
  }

  /** Answers 200. */
  open(): void {
    if (!this.gone.aborted) this.raw.writeHead(200, HEADERS);
  }

  /** Resolves when the client has room for more, or is gone. */
  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.raw.write(text)) return;
    await this.until('drain', this.takeMs);
  }

  /** Ends the stream; resolves when the client has all of it, or is gone. */
  async end(): Promise<void> {
    if (this.gone.aborted) return;
    this.raw.end();
    if (!this.raw.writableFinished) await this.until('finish', END_WITHIN_MS);
  }

  /** Resolves at what is awaited or the end of the connection, which is cut when it takes too long. */
  private until(event: 'drain' | 'finish', ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cut = (): void => {
        this.raw.destroy();
      };
      const hurry = (): void => {
        clearTimeout(late);
        late = setTimeout(cut, END_WITHIN_MS);
      };
      const done = (): void => {
        clearTimeout(late);
        this.closing.removeEventListener('abort', hurry);
        this.raw.off(event, done).off('close', done);
        resolve();
      };
      let late = setTimeout(cut, this.closing.aborted ? Math.min(ms, END_WITHIN_MS) : ms);
      this.closing.addEventListener('abort', hurry, { once: true });
      this.raw.once(event, done).once('close', done);
    });
  }
}
