import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AxiosInstance, AxiosRequestConfig, AxiosResponse } from 'axios';
import { ExchangeDeadline } from './exchange-deadline.js';
import { whenAdmitted } from './http-admitting-agent.js';
import { assertNotGateway, failureOf, isSuccess, statusErrorOf } from './http-failure.js';
import { LargeReplies } from './large-replies.js';
import { UpstreamReplyTooLargeError } from '../upstream-error.js';
import type { UpstreamAddress } from '../upstream.js';

/** So much of a reply is taken before it counts as a large one, in bytes. */
const LARGE_BYTES = 1024 * 1024;
/** So many large replies are held at once while they are read, over all accounts. */
const MAX_LARGE_REPLIES = 4;
/** So much of an error's body is read, in bytes. */
const MAX_ERROR_BYTES = 64 * 1024;
/** So long the chunks of a reply may keep the event loop before others get their turn, in milliseconds. */
const TURN_MS = 10;

/** Takes the body of a reply. */
export interface BodyTaker {
  /** @throws {UpstreamError} if it is not the body of a reply that is wanted */
  push(chunk: Buffer): void | Promise<void>;
}

/** How a reply is bounded. */
export interface ReplyBound {
  /** Of the body, unpacked. */
  maxBytes: number;
  /** Whether all of it is held until it was read: then only so many large ones are at once. */
  isHeld: boolean;
}

/** Reads replies while their bytes come. */
export class HttpReading {
  private readonly largeReplies = new LargeReplies(MAX_LARGE_REPLIES);

  /** @param timeoutMs deadline of a whole exchange, body included */
  constructor(
    private readonly http: AxiosInstance,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Answers when the taker has had the whole body of a successful reply.
   * @param address of several base addresses, each has its share of the large replies at once
   * @throws {UpstreamError}
   */
  async read(
    { baseUrl, admission }: UpstreamAddress,
    request: AxiosRequestConfig,
    taker: BodyTaker,
    bound: ReplyBound,
  ): Promise<AxiosResponse['headers']> {
    await admission?.();
    const exchange = new Exchange(this.timeoutMs);
    try {
      const { deadline } = exchange;
      const { signal } = deadline;
      const streamed = { ...request, responseType: 'stream', maxContentLength: -1, signal } as const;
      const response = await whenAdmitted(admission, () => this.http.request<Readable>(streamed));
      assertIsUpstream(response);
      if (!isSuccess(response)) throw statusErrorOf(response, await beginningOf(response.data));
      let turnBegan = performance.now();
      for await (const chunk of response.data as AsyncIterable<Buffer>) {
        exchange.received += chunk.length;
        if (exchange.received > bound.maxBytes) throw new UpstreamReplyTooLargeError(bound.maxBytes);
        // Our own work, and the wait for room, are no time that upstream takes.
        deadline.pause();
        if (bound.isHeld && exchange.received > LARGE_BYTES)
          exchange.leave ??= await this.largeReplies.enter(baseUrl, this.timeoutMs);
        await taker.push(chunk);
        if (performance.now() - turnBegan > TURN_MS) {
          await nextTurn();
          turnBegan = performance.now();
        }
        deadline.resume();
      }
      return response.headers;
    } catch (error) {
      throw failureOf(error, {
        timeoutMs: this.timeoutMs,
        timedOut: exchange.deadline.isOver,
        maxBytes: bound.maxBytes,
        received: exchange.received,
      });
    } finally {
      exchange.end();
    }
  }
}

/** A request that is under way. */
class Exchange {
  readonly deadline: ExchangeDeadline;
  /** Bytes of the body, unpacked. */
  received = 0;
  /** Gives back its place among the large replies. */
  leave: (() => void) | undefined;

  constructor(timeoutMs: number) {
    this.deadline = new ExchangeDeadline(timeoutMs);
  }

  end(): void {
    this.deadline.pause();
    this.leave?.();
  }
}

/** @throws {UpstreamIsGatewayError} and leaves the body */
function assertIsUpstream(response: AxiosResponse<Readable>): void {
  try {
    assertNotGateway(response);
  } catch (error) {
    response.data.destroy();
    throw error;
  }
}

async function beginningOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_ERROR_BYTES);
}
