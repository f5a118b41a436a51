import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import { decompressBody } from './http-decompression.js';

/** A reply to a read. Its body may still be arriving. */
export interface HttpReply {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** When the headers arrived, by `performance.now()`. */
  arrivedAt: number;
  body: Iterable<Buffer> | Readable;
}

/** One read: a GET request. */
export interface HttpRead {
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Aborts the read, even while the body is arriving. */
  signal: AbortSignal;
  tokenRenewal?: BudgetTokenRenewal | undefined;
  /** The client notes here what has arrived, because a failed read has no reply. */
  progress: ReadProgress;
}

/** What has arrived of the body of a reply. */
export interface ReadProgress {
  /** Number of bytes; if the body is compressed, before decompression. */
  bytes: number;
  /** Status of the reply. Absent as long as no bytes have arrived. */
  status?: number;
}

/** Maximum size of a body that is passed on as a whole, in bytes. A larger body is passed on as a stream. */
const MAX_COLLECTED_BYTES = 64 * 1024;
/**
 * Maximum number of times that a read is started. If its token expires while a connection is opened, the read is
 * started again with another token. The last start does not check whether the token has expired.
 */
const MAX_LATE_STARTS = 10;

/** Thrown if the token of a read expired before the request could be sent. */
class TokenExpiredError extends Error {}

/**
 * Makes HTTP reads over connections that are kept open. Follows no redirects, and ignores proxy settings in
 * environment variables. Each request needs a token of the request budget. If the token
 * expires while a connection is opened, the client takes a new one.
 */
export class HttpReadClient {
  private readonly agent: Agent;

  /** @param timeoutMs time within which a connection must be established, in milliseconds */
  constructor(timeoutMs: number) {
    // Other timeouts are not needed, because each read has an `AbortSignal` that limits its duration.
    this.agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: timeoutMs } });
  }

  /**
   * Makes a read. Resolves to the reply. A small uncompressed body is passed on as a whole, and any other body as a
   * stream. If the rest of the body cannot be read, the stream ends with the error. Before the call, the caller must
   * await `read.tokenRenewal`, which replaces an expired token of the budget.
   */
  async get(read: HttpRead): Promise<HttpReply> {
    for (let starts = 1; ; starts += 1) {
      try {
        const reply = await this.start(read, starts < MAX_LATE_STARTS);
        return { ...reply, body: decompressBody(reply.body, reply.headers) };
      } catch (error) {
        if (!(error instanceof TokenExpiredError)) throw error;
        await read.tokenRenewal?.();
      }
    }
  }

  close(): void {
    void this.agent.destroy();
  }

  private start(read: HttpRead, needsToken: boolean): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const { url, headers, tokenRenewal } = read;
      const mayStart = (): boolean => !needsToken || tokenRenewal?.isExpired?.() !== true;
      this.agent.dispatch(
        { origin: url.origin, path: url.pathname + url.search, method: 'GET', headers },
        new ReplyHandler(read, mayStart, resolve, reject),
      );
    });
  }
}

/** Receives the reply to one read. Passes a small body on as a whole, and a larger body as a stream. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private chunks: Buffer[] = [];
  private collectedBytes = 0;
  private stream: Readable | undefined;
  private reply: Omit<HttpReply, 'body'> | undefined;
  private isOver = false;
  private readonly abort = (): void => {
    const reason = new Error('aborted');
    this.fail(reason);
    this.controller?.abort(reason);
  };

  constructor(
    private readonly read: Pick<HttpRead, 'signal' | 'progress'>,
    private readonly mayStart: () => boolean,
    private readonly resolve: (reply: HttpReply) => void,
    private readonly reject: (error: Error) => void,
  ) {
    if (read.signal.aborted) this.abort();
    else read.signal.addEventListener('abort', this.abort, { once: true });
  }

  /**
   * Called by the agent right before it writes the request. If this method throws an error, the agent does not write
   * the request, and keeps the connection open.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isOver) throw new Error('aborted');
    if (!this.mayStart()) throw new TokenExpiredError();
    this.controller = controller;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 200) this.reply = { status, headers, arrivedAt: performance.now() };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.reply !== undefined) {
      this.read.progress.bytes += chunk.length;
      this.read.progress.status = this.reply.status;
    }
    if (this.stream !== undefined) {
      if (!this.stream.push(chunk)) controller.pause();
      return;
    }
    this.chunks.push(chunk);
    this.collectedBytes += chunk.length;
    if (this.collectedBytes > MAX_COLLECTED_BYTES) this.passOnAsStream(controller);
  }

  onResponseEnd(): void {
    this.end();
    if (this.stream !== undefined) this.stream.push(null);
    else if (this.reply !== undefined) this.resolve({ ...this.reply, body: this.chunks });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  private passOnAsStream(controller: Dispatcher.DispatchController): void {
    const stream = new Readable({
      read: () => {
        controller.resume();
      },
      destroy: (error, done) => {
        if (!this.isOver) controller.abort(error ?? new Error('the rest of the reply is not needed'));
        this.end();
        done(error);
      },
    });
    this.stream = stream;
    let isFull = false;
    for (const chunk of this.chunks) isFull = !stream.push(chunk);
    this.chunks = [];
    if (isFull) controller.pause();
    if (this.reply !== undefined) this.resolve({ ...this.reply, body: stream });
  }

  private fail(error: Error): void {
    this.end();
    if (this.stream !== undefined) this.stream.destroy(error);
    else this.reject(error);
  }

  private end(): void {
    this.isOver = true;
    this.read.signal.removeEventListener('abort', this.abort);
  }
}
