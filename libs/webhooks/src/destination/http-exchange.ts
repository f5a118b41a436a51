import { TextDecoder } from 'node:util';
import { TimeLimit } from '#platform';
import type { Dispatcher } from 'undici';
import type { DeliveryReply } from '../attempt/delivery-client.js';
import { describeRequestFailure } from './http-failure.js';

/** Max number of bytes of a reply's body that are read. */
export const MAX_EXCERPT_BYTES = 1_024;

const NO_CONTENT = 204;

/** Called once when an exchange has ended. */
export type OnExchangeEnd = (reply: DeliveryReply) => void;

/**
 * Handles undici's callbacks for one request and its reply. Undici's usual API, with a stream for each reply and an
 * abort signal for each request, would take several times as much CPU time.
 */
export class HttpExchange implements Dispatcher.DispatchHandler {
  private readonly reply: DeliveryReply = { statusCode: null, retryAfter: null, error: null, excerpt: '' };
  private readonly deadline: NodeJS.Timeout;
  private readonly limit: TimeLimit;
  private controller: Dispatcher.DispatchController | undefined;
  private decoder: TextDecoder | undefined;
  private bytesLeft = MAX_EXCERPT_BYTES;
  private hasEnded = false;
  /** True if the whole reply has arrived. */
  private isComplete = false;

  /** @param timeoutMs time for the whole exchange, in milliseconds */
  constructor(
    private readonly timeoutMs: number,
    private readonly onEnd: OnExchangeEnd,
  ) {
    this.limit = new TimeLimit(timeoutMs);
    this.deadline = setTimeout(() => {
      this.fail(this.describeTimeout());
    }, timeoutMs);
  }

  /** Ends the exchange with an error, and closes its connection. Does nothing if the exchange has already ended. */
  fail(error: string): void {
    if (this.hasEnded) return;
    this.reply.error = error;
    this.end();
    this.controller?.abort(new Error(error));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // The exchange may have ended while the connection was being opened.
    if (this.hasEnded) controller.abort(new Error('the request was aborted'));
    // If the machine was suspended, the timer of the deadline is late. Do not send the request after the deadline,
    // because another process may have delivered the event by then.
    else if (this.limit.isOver()) this.fail(this.describeTimeout());
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    statusCode: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // A status below 200 is informational; the final status follows.
    if (statusCode < 200 || this.hasEnded) return;
    this.reply.statusCode = statusCode;
    // A proxy may add a second header of this name.
    const [retryAfter = null] = [headers['retry-after']].flat();
    this.reply.retryAfter = retryAfter;
    // Some receivers send a Content-Length with a 204, which undici rejects because no body follows.
    if (statusCode === NO_CONTENT) this.end();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.hasEnded) return;
    this.decoder ??= new TextDecoder();
    this.reply.excerpt += this.decoder.decode(chunk.subarray(0, this.bytesLeft), { stream: true });
    this.bytesLeft -= chunk.length;
    if (this.bytesLeft > 0) return;
    this.end();
    // The rest of the body is not needed, and the body may be endless. If the rest has arrived together with this
    // chunk, the reply is complete when the function below runs, and the connection can be reused.
    setImmediate(() => {
      if (!this.isComplete) controller.abort(new Error('the excerpt is complete'));
    });
  }

  onResponseEnd(): void {
    this.isComplete = true;
    this.end();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.hasEnded) return;
    this.reply.error = describeRequestFailure(error);
    this.end();
  }

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.deadline);
    this.onEnd(this.reply);
  }

  private describeTimeout(): string {
    const { statusCode } = this.reply;
    const missing = statusCode === null ? 'no reply' : `status ${statusCode}, but no complete reply`;
    return `${missing} within ${this.timeoutMs} ms`;
  }
}
