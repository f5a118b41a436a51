import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { DeliveryClient, DeliveryReply, DeliveryRequest } from '../attempt/delivery-client.js';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';
import type { DestinationGuard } from './destination-guard.js';
import { describeRequestFailure } from './http-failure.js';
import { HttpExchange } from './http-exchange.js';
import { ConnectionPoolCache } from './http-connection-pool-cache.js';
import type { Resolver } from './resolver.js';
import { normalizedHostOf, parseWebhookUrl } from './webhook-url.js';

/** Max number of origins (scheme, host and port) with an open connection pool. */
const MAX_ORIGINS = 256;
/** Time after which an unused connection is closed, in milliseconds. */
const IDLE_TIMEOUT_MS = 4_000;
/** Max age of a connection, in milliseconds. A new connection resolves the host name and checks its addresses again. */
const MAX_CONNECTION_AGE_MS = 60_000;
/** Max size of the headers of a reply, in bytes. */
const MAX_HEADER_BYTES = 16_384;

/**
 * Implements {@link DeliveryClient} with undici. Follows no redirects, ignores proxy settings in environment variables,
 * and always verifies certificates. Each new connection resolves the host name, and fails if one of the addresses is
 * forbidden. The address of the connected peer is checked again before anything is sent.
 */
export class HttpDeliveryClient implements DeliveryClient {
  // The cache limits the age of connections. Undici's `clientTtl` would take more time: twice per request, it reads the
  // clock for each connection of the pool.
  private readonly pools = new ConnectionPoolCache<Pool>(
    { maxPools: MAX_ORIGINS, maxAgeMs: MAX_CONNECTION_AGE_MS },
    (origin) => this.open(origin),
  );
  private readonly running = new WeakMap<AbortSignal, Set<HttpExchange>>();

  constructor(
    private readonly guard: DestinationGuard,
    private readonly resolve: Resolver,
    /** Timeout of a whole request, from resolving the host name to the end of the reply's body, in milliseconds. */
    private readonly timeoutMs: number,
  ) {}

  post(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryReply> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const running = this.runningUnder(signal);
      const exchange = new HttpExchange(this.timeoutMs, (reply) => {
        running.delete(exchange);
        if (signal.aborted) reject(abortErrorOf(signal));
        else resolve(reply);
      });
      running.add(exchange);
      try {
        const url = parseWebhookUrl(request.url);
        const { headers, body } = request;
        const path = url.pathname + url.search;
        this.pools.get(url.origin).dispatch({ method: 'POST', path, headers, body }, exchange);
      } catch (error) {
        exchange.fail(describeRequestFailure(error));
      }
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await this.pools.close();
  }

  /**
   * Returns the exchanges that a signal aborts. All of these exchanges share one listener, because it takes long to
   * remove one of many listeners from a signal.
   */
  private runningUnder(signal: AbortSignal): Set<HttpExchange> {
    const known = this.running.get(signal);
    if (known !== undefined) return known;
    const running = new Set<HttpExchange>();
    this.running.set(signal, running);
    signal.addEventListener(
      'abort',
      () => {
        for (const exchange of running) exchange.fail('aborted');
      },
      { once: true },
    );
    return running;
  }

  private open(origin: string): Pool {
    return new Pool(origin, {
      connect: this.connector(new URL(origin).protocol),
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Undici's own timeouts are off, because `timeoutMs` limits the whole request.
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
      const literal = normalizedHostOf(options);
      const refusal = isIP(literal) === 0 ? undefined : this.guard.refusal(protocol, literal);
      if (refusal !== undefined) {
        queueMicrotask(() => {
          callback(new ForbiddenDestinationError(refusal), null);
        });
        return;
      }
      dial(options, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        const peerRefusal = this.guard.refusal(protocol, socket.remoteAddress ?? 'the unknown peer');
        if (peerRefusal === undefined) {
          callback(null, socket);
        } else {
          socket.destroy();
          callback(new ForbiddenDestinationError(peerRefusal), null);
        }
      });
    };
  }

  private lookup(protocol: string): LookupFunction {
    return (hostname, options, callback) => {
      this.resolveAllowed(protocol, hostname).then(
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

  private async resolveAllowed(protocol: string, hostname: string): Promise<LookupAddress[]> {
    const addresses = await this.resolve(hostname);
    this.guard.check({ protocol, hostname }, addresses);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }
}

function abortErrorOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
