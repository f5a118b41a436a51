import { LRUCache } from 'lru-cache';
import { EndpointIndex } from './endpoint-index.js';
import type { EndpointStore } from './endpoint-store.js';

/** Max number of accounts whose endpoints are cached. */
const MAX_ACCOUNTS = 500;
/**
 * Max age of a cached index of endpoints, in milliseconds. An older build that runs beside the current build changes
 * endpoints but not the revision of the account's endpoints. The cache may notice such a change only when the index
 * has reached its max age.
 */
const MAX_AGE_MS = 60_000;

/** The cached endpoints of one account. */
interface CachedIndex {
  revision: string;
  /** Finds the endpoints for an event, including disabled endpoints. */
  index: EndpointIndex;
  /** Ids of the enabled endpoints. */
  enabled: ReadonlySet<string>;
}

/**
 * LRU cache with one {@link EndpointIndex} per account. Reads the endpoints again after each change of the account's
 * endpoints.
 */
export class EndpointIndexCache {
  private readonly byAccount = new LRUCache<string, CachedIndex>({ max: MAX_ACCOUNTS, ttl: MAX_AGE_MS });

  constructor(private readonly endpoints: Pick<EndpointStore, 'list' | 'revision'>) {}

  /**
   * Returns the index of an account and the ids of its enabled endpoints. The result includes every change that was
   * made before the call, except some recent changes by an older build.
   */
  async get(account: string): Promise<{ index: EndpointIndex; enabled: ReadonlySet<string> }> {
    // Read the revision before the endpoints. If an endpoint changes between the two reads, the next call sees a new
    // revision and reads the endpoints again.
    const revision = await this.endpoints.revision(account);
    const cached = this.byAccount.get(account);
    if (cached?.revision === revision) return cached;
    // The age of a cached index counts from the start of the read.
    const start = performance.now();
    const current = await this.read(account, revision);
    this.byAccount.set(account, current, { start });
    return current;
  }

  private async read(account: string, revision: string): Promise<CachedIndex> {
    // Include disabled endpoints, because the store records which events they miss.
    const endpoints = await this.endpoints.list(account);
    const enabled = new Set(endpoints.filter((endpoint) => endpoint.enabled).map(({ id }) => id));
    return { revision, index: new EndpointIndex(endpoints), enabled };
  }
}
