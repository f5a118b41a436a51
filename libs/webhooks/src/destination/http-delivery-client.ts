import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { DeliveryClient, DeliveryReply, DeliveryRequest } from '../attempt/delivery-client.js';
import { type DestinationGuard, hostOf, refused } from './destination-guard.js';
import { describeFailure } from './http-failure.js';
import { readExcerpt } from './http-excerpt.js';
import { OriginCache } from './http-origin-cache.js';
import type { Resolver } from './resolver.js';

const MOST_ORIGINS = 256;
const IDLE_MS = 4_000;
/** A connection is not used for longer, so that a name's new addresses are found and vetted. */
const CONNECTION_LIFE_MS = 60_000;
const LARGEST_HEADER_BYTES = 16_384;

/**
 * {@link DeliveryClient} on undici. Redirects are not followed, proxies from the environment not used, certificates
 * always verified. A name is resolved when a connection is made: all its addresses must be allowed, the connection is
 * made to one of those, and the address at its other end is checked once more before a byte is written.
 */
export class HttpDeliveryClient implements DeliveryClient {
  private readonly pools = new OriginCache<Pool>(MOST_ORIGINS, (origin) => this.open(origin));

  constructor(
    private readonly guard: DestinationGuard,
    private readonly resolve: Resolver,
    /** For the whole exchange: name, connection, TLS, request, reply and its body. */
    private readonly timeoutMs: number,
  ) {}

  async post(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryReply> {
    const exchange = new AbortController();
    const stop = (): void => {
      exchange.abort();
    };
    const deadline = setTimeout(stop, this.timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    const reply: DeliveryReply = { statusCode: null, retryAfter: null, error: null, excerpt: '' };
    try {
      signal.throwIfAborted();
      const url = this.guard.parse(request.url);
      const pool = this.pools.get(url.origin);
      const response = await pool.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: request.headers,
        body: request.body,
        signal: exchange.signal,
      });
      reply.statusCode = response.statusCode;
      const retryAfter = response.headers['retry-after'];
      if (typeof retryAfter === 'string') reply.retryAfter = retryAfter;
      await readExcerpt(response.body, (text) => {
        reply.excerpt = text;
      });
    } catch (error) {
      if (signal.aborted) throw error;
      reply.error = exchange.signal.aborted ? this.lateness(reply) : describeFailure(error);
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', stop);
    }
    return reply;
  }

  async close(): Promise<void> {
    await this.pools.close();
  }

  private lateness({ statusCode }: DeliveryReply): string {
    const what = statusCode === null ? 'no reply' : `status ${statusCode}, but no end of the reply,`;
    return `${what} within ${this.timeoutMs} ms`;
  }

  private open(origin: string): Pool {
    return new Pool(origin, {
      connect: this.connector(new URL(origin).protocol),
      clientTtl: CONNECTION_LIFE_MS,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: LARGEST_HEADER_BYTES,
      // The deadline over the whole exchange is the one that counts.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  private connector(protocol: string): buildConnector.connector {
    const dial = buildConnector({
      timeout: this.timeoutMs,
      rejectUnauthorized: true,
      lookup: this.lookup(protocol),
    });
    return (options, callback) => {
      const literal = hostOf(options);
      const refusal = isIP(literal) === 0 ? undefined : this.guard.refusal(protocol, literal);
      if (refusal !== undefined) {
        queueMicrotask(() => {
          callback(refused(refusal), null);
        });
        return;
      }
      dial(options, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        const dialled = this.guard.refusal(protocol, socket.remoteAddress ?? 'an unknown peer');
        if (dialled === undefined) {
          callback(null, socket);
        } else {
          socket.destroy();
          callback(refused(dialled), null);
        }
      });
    };
  }

  private lookup(protocol: string): LookupFunction {
    return (hostname, options, callback) => {
      this.vetted(protocol, hostname).then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined) callback(new Error(`${hostname} has no address`), '');
          else if (options.all === true) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        (error: unknown) => {
          callback(error instanceof Error ? error : new Error(String(error)), '');
        },
      );
    };
  }

  private async vetted(protocol: string, hostname: string): Promise<LookupAddress[]> {
    const addresses = await this.resolve(hostname);
    this.guard.check({ protocol, hostname }, addresses);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }
}
