import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AxiosInstance, AxiosRequestConfig, AxiosResponse } from 'axios';
import { ExchangeDeadline } from './exchange-deadline.js';
import { runWithAdmission } from './http-admitting-agent.js';
import { assertNotGateway, failureOf, isSuccess, statusErrorOf } from './http-failure.js';
import { LargeReplySlots } from './large-reply-slots.js';
import { UpstreamReplyTooLargeError } from '../upstream-error.js';
import type { UpstreamAddress } from '../upstream.js';

/** Size above which a reply counts as large, in bytes. */
const LARGE_BYTES = 1024 * 1024;
/** Maximum number of large replies that this process reads at once, over all accounts. */
const MAX_LARGE_REPLIES = 4;
/** Maximum number of bytes that are read of an error's body. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Time for which the chunks of one reply may occupy the event loop, in milliseconds. */
const TURN_MS = 10;

/** Consumer of a reply's body. */
export interface BodyConsumer {
  /** @throws {UpstreamError} if the body is not valid */
  push(chunk: Buffer): void | Promise<void>;
}

/** Limits of one reply. */
export interface ReplyLimits {
  /** Maximum size of the body after decompression, in bytes. */
  maxBytes: number;
  /** True if the whole reply stays in memory until it is read. The number of such large replies at once is limited. */
  isBuffered: boolean;
}

/** Reads replies as streams. */
export class HttpReplyReader {
  private readonly largeReplies = new LargeReplySlots(MAX_LARGE_REPLIES);

  /** @param timeoutMs deadline of a whole exchange including the body, in milliseconds */
  constructor(
    private readonly http: AxiosInstance,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Passes the whole body of a successful reply to the taker. Resolves to the reply's headers.
   * @param address its base address is the owner of the slot for a large reply; each owner gets a share of the slots
   * @throws {UpstreamError}
   */
  async read(
    { baseUrl, admission }: UpstreamAddress,
    request: AxiosRequestConfig,
    consumer: BodyConsumer,
    limits: ReplyLimits,
  ): Promise<AxiosResponse['headers']> {
    await admission?.();
    const exchange = new Exchange(this.timeoutMs);
    try {
      const { deadline } = exchange;
      const { signal } = deadline;
      const streamed = { ...request, responseType: 'stream', maxContentLength: -1, signal } as const;
      const response = await runWithAdmission(admission, () => this.http.request<Readable>(streamed));
      assertIsUpstream(response);
      if (!isSuccess(response)) throw statusErrorOf(response, await beginningOf(response.data));
      let turnBegan = performance.now();
      for await (const chunk of response.data as AsyncIterable<Buffer>) {
        exchange.received += chunk.length;
        if (exchange.received > limits.maxBytes) throw new UpstreamReplyTooLargeError(limits.maxBytes);
        // The deadline counts only upstream's time, neither our own work nor the wait for a slot.
        deadline.pause();
        if (limits.isBuffered && exchange.received > LARGE_BYTES)
          exchange.releaseSlot ??= await this.largeReplies.acquire(baseUrl, this.timeoutMs);
        await consumer.push(chunk);
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
        maxBytes: limits.maxBytes,
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
  /** Number of bytes of the body after decompression. */
  received = 0;
  /** Releases the slot of a large reply. */
  releaseSlot: (() => void) | undefined;

  constructor(timeoutMs: number) {
    this.deadline = new ExchangeDeadline(timeoutMs);
  }

  end(): void {
    this.deadline.pause();
    this.releaseSlot?.();
  }
}

/** Destroys the body of a gateway's reply. @throws {UpstreamIsGatewayError} if a gateway replied */
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
