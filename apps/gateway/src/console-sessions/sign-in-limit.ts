import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem, retryAfter } from '../problems/problem.js';

/** Maximum number of failed sign-ins of one address per window. */
export const MAX_FAILED_SIGN_INS = 20;
const WINDOW_SECONDS = 60;
/**
 * Maximum number of addresses whose failures are counted. If there are more, the address whose last attempt is the
 * oldest is forgotten.
 */
const MAX_ADDRESSES = 10_000;

/**
 * Limits the failed sign-ins of each client address at this gateway. Behind a proxy, all clients have the address of the
 * proxy and share its limit. The count is in memory: it needs no Redis, and a stranger cannot fill Redis with addresses.
 */
export class SignInLimit {
  private readonly limiter: RateLimiterMemory;
  private readonly addresses: LRUCache<string, true>;

  constructor(
    private readonly limit = MAX_FAILED_SIGN_INS,
    maxAddresses = MAX_ADDRESSES,
  ) {
    this.limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_SECONDS });
    this.addresses = new LRUCache({
      max: maxAddresses,
      dispose: (_, address, reason) => {
        if (reason === 'evict') void this.limiter.delete(address);
      },
    });
  }

  /** Number of addresses whose failures are counted. */
  get size(): number {
    return this.addresses.size;
  }

  /**
   * Calls `signIn`, and counts it if it fails because the API key is invalid. Attempts that run at the same time count
   * until they succeed, so that they cannot exceed the limit together.
   * @throws {Problem} `rate_limited`, without a call of `signIn`, if the address has reached its limit
   */
  async guard<T>(address: string, signIn: () => Promise<T>): Promise<T> {
    const network = networkOf(address);
    await this.count(network);
    try {
      const result = await signIn();
      await this.limiter.reward(network);
      return result;
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'unauthenticated')) await this.limiter.reward(network);
      throw error;
    }
  }

  private async count(network: string): Promise<void> {
    this.addresses.set(network, true);
    try {
      await this.limiter.consume(network);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const detail = `There were ${this.limit} failed sign-ins from your address within a minute. Retry later.`;
      throw new Problem('rate_limited', detail, { headers: retryAfter(error.msBeforeNext) });
    }
  }
}

/**
 * Returns the key under which the failures of an address are counted. For an IPv6 address, this is its /64 network,
 * because one client usually has all addresses of such a network.
 */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const missing = Array<string>(Math.max(0, 8 - (first?.length ?? 0) - (last?.length ?? 0))).fill('0');
  return [...(first ?? []), ...(address.includes('::') ? missing : []), ...(last ?? [])]
    .slice(0, 4)
    .join(':');
}
