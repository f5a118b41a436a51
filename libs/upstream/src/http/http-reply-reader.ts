import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import { ExchangeDeadline } from './exchange-deadline.js';
import {
  assertReplyIsNotFromTidings,
  BudgetTokenRenewalError,
  hasKnownEnd,
  toErrorOfExchange,
  isDecompressionError,
  isSuccessfulReply,
  createUpstreamStatusError,
} from './http-failure.js';
import type { HttpRead, HttpReadClient, HttpReply, ReadProgress } from './http-read-client.js';
import { LargeReplySlots } from './large-reply-slots.js';
import { UpstreamReplyTooLargeError } from '../upstream-error.js';
import type { UpstreamAddress } from '../upstream.js';

/** Size above which a reply counts as large, in bytes. */
const LARGE_BYTES = 1024 * 1024;
/** Maximum number of large replies that this process reads at once, over all accounts. */
const MAX_LARGE_REPLIES = 4;
/** Maximum number of bytes that are read from the body of an error reply. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Time in milliseconds after which the reader of a reply lets other work of this process run. */
const TURN_MS = 10;

/** Receives the body of a reply, chunk by chunk. */
export interface BodyConsumer {
  /** Receives the next chunk of the body. @throws {UpstreamError} if the body is not valid */
  push(chunk: Buffer): void | Promise<void>;
}

/** Limits for the reading of one reply. */
export interface ReplyLimits {
  /** Maximum size of the body after decompression, in bytes. */
  maxBytes: number;
  /**
   * True if the consumer keeps the whole reply in memory. A large reply then needs one of the slots that limit how
   * many large replies this process reads at once.
   */
  isBuffered: boolean;
}

/** Reads upstream's replies as streams and passes them to a consumer. */
export class HttpReplyReader {
  private readonly largeReplies = new LargeReplySlots(MAX_LARGE_REPLIES);

  /** @param timeoutMs time that upstream may take for one request and its whole reply, in milliseconds */
  constructor(
    private readonly reads: HttpReadClient,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Sends a request and passes the whole body of a successful reply to `consumer`. Resolves to the reply's
   * headers and the time of their arrival.
   * @throws {UpstreamError} if the request fails or the reply is not valid
   * @throws the error of `tokenRenewal` if it rejects
   */
  async read(
    { baseUrl, tokenRenewal }: UpstreamAddress,
    request: Pick<HttpRead, 'url' | 'headers'>,
    consumer: BodyConsumer,
    limits: ReplyLimits,
  ): Promise<Pick<HttpReply, 'headers' | 'arrivedAt'>> {
    await tokenRenewal?.();
    const exchange = new Exchange(this.timeoutMs);
    const progress: ReadProgress = { bytes: 0 };
    let isEndKnown = false;
    try {
      const { deadline } = exchange;
      const { signal } = deadline;
      const response = await this.reads.get({
        ...{ ...request, signal, progress },
        tokenRenewal: pausedDuring(tokenRenewal, deadline),
      });
      isEndKnown = hasKnownEnd(response);
      assertIsUpstream(response);
      if (!isSuccessfulReply(response))
        throw createUpstreamStatusError(response, await beginningOf(response.body));
      let turnBegan = performance.now();
      for await (const chunk of response.body as AsyncIterable<Buffer> | Iterable<Buffer>) {
        exchange.received += chunk.length;
        if (exchange.received > limits.maxBytes) throw new UpstreamReplyTooLargeError(limits.maxBytes);
        // The deadline counts only the time that upstream takes. So it is paused while this process handles a chunk
        // of the body or waits for a slot for a large reply.
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
      const { headers, arrivedAt } = response;
      return { headers, arrivedAt };
    } catch (error) {
      const { bytes, status } = progress;
      throw toErrorOfExchange(error, {
        timeoutMs: this.timeoutMs,
        timedOut: exchange.deadline.isOver,
        maxBytes: limits.maxBytes,
        // If the request fails before the first bytes of the body are passed on, `exchange.received` is 0 although
        // bytes have arrived.
        received: exchange.received || bytes,
        hasBegun: status !== undefined && isSuccessfulReply({ status }),
        hasKnownEnd: isEndKnown,
      });
    } finally {
      exchange.end();
    }
  }
}

/**
 * The state of one running request to upstream. A request with a large reply has a slot, because a process reads only
 * a few large replies at once.
 */
class Exchange {
  readonly deadline: ExchangeDeadline;
  /** Number of bytes of the reply's body that were received, counted after decompression. */
  received = 0;
  /** Releases the slot for a large reply. Undefined if the request has no slot. */
  releaseSlot: (() => void) | undefined;

  constructor(timeoutMs: number) {
    this.deadline = new ExchangeDeadline(timeoutMs);
  }

  end(): void {
    this.deadline.pause();
    this.releaseSlot?.();
  }
}

/**
 * Returns a token renewal that works like the given one and pauses the deadline while it runs. A request may wait
 * long for a new token, and this wait must not count towards the deadline.
 * @throws {BudgetTokenRenewalError} if the given renewal rejects
 */
function pausedDuring(
  tokenRenewal: BudgetTokenRenewal | undefined,
  deadline: ExchangeDeadline,
): BudgetTokenRenewal | undefined {
  if (tokenRenewal === undefined) return undefined;
  const renewal = async (): Promise<void> => {
    deadline.pause();
    try {
      await tokenRenewal();
    } catch (error) {
      throw new BudgetTokenRenewalError(error);
    } finally {
      deadline.resume();
    }
  };
  return Object.assign(renewal, { isExpired: () => tokenRenewal.isExpired?.() === true });
}

/**
 * Checks that a reply does not come from a Tidings gateway. If it does, discards the reply's body.
 * @throws {UpstreamIsTidingsError} if the reply comes from a Tidings gateway
 */
function assertIsUpstream(response: HttpReply): void {
  try {
    assertReplyIsNotFromTidings(response);
  } catch (error) {
    discard(response);
    throw error;
  }
}

function discard({ body }: HttpReply): void {
  if (body instanceof Readable) body.destroy();
}

/** Returns the beginning of the body of an error reply, as far as it can be decompressed. */
async function beginningOf(body: HttpReply['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer> | Iterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (!isDecompressionError(error)) throw error;
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_ERROR_BYTES);
}
