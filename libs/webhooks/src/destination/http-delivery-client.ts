import type { Pool } from 'undici';
import type { DeliveryClient, DeliveryReply, DeliveryRequest } from '../attempt/delivery-client.js';
import type { DestinationGuard } from './destination-guard.js';
import { describeRequestFailure } from './http-failure.js';
import { HttpExchange } from './http-exchange.js';
import { openGuardedPool } from './http-guarded-pool.js';
import { ConnectionPoolCache } from './http-connection-pool-cache.js';
import type { Resolver } from './resolver.js';
import { parseWebhookUrl } from './webhook-url.js';

/** Max number of origins (scheme, host and port) with an open connection pool. */
const MAX_ORIGINS = 256;
/** Max age of a connection, in milliseconds. A new connection resolves the host name and checks its addresses again. */
const MAX_CONNECTION_AGE_MS = 60_000;

/**
 * Implements {@link DeliveryClient} with undici. Follows no redirects, ignores proxy settings in environment variables,
 * and always verifies certificates. Requests go over connections that {@link openGuardedPool} checks.
 */
export class HttpDeliveryClient implements DeliveryClient {
  // The cache limits the age of connections. Undici's `clientTtl` would take more time: twice per request, it reads the
  // clock for each connection of the pool.
  private readonly pools: ConnectionPoolCache<Pool>;
  private readonly running = new WeakMap<AbortSignal, Set<HttpExchange>>();

  constructor(
    guard: DestinationGuard,
    resolve: Resolver,
    /** Timeout of a whole request, from resolving the host name to the end of the reply's body, in milliseconds. */
    private readonly timeoutMs: number,
  ) {
    this.pools = new ConnectionPoolCache(
      { maxPools: MAX_ORIGINS, maxAgeMs: MAX_CONNECTION_AGE_MS },
      (origin) => openGuardedPool(origin, { guard, resolve, timeoutMs }),
    );
  }

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

  /** Closes all connections immediately, and aborts their requests. */
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
}

function abortErrorOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
