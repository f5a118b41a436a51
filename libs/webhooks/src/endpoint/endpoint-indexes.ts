import { EndpointIndex } from './endpoint-index.js';
import type { EndpointStore } from './endpoint-store.js';

/** Max number of accounts whose endpoints are cached. */
const MAX_ACCOUNTS = 500;
/**
 * Max age of a cached index, in milliseconds. Older versions of the software change endpoints without a new revision.
 */
const MAX_AGE_MS = 60_000;

/** The cached endpoints of one account. */
interface CachedIndex {
  revision: string;
  /** Time at which the endpoints were read, by `performance.now()`, in milliseconds. */
  readAt: number;
  /** Finds the endpoints for an event, including disabled endpoints. */
  index: EndpointIndex;
  /** Ids of the enabled endpoints. */
  enabled: ReadonlySet<string>;
}

/**
 * LRU cache with one {@link EndpointIndex} per account. Reads the endpoints again after each change of the account's
 * endpoints.
 */
export class EndpointIndexes {
  /** The cached indexes by account, least recently used first. */
  private readonly cache = new Map<string, CachedIndex>();

  constructor(private readonly endpoints: Pick<EndpointStore, 'list' | 'revision'>) {}

  /**
   * Returns the index of an account and the ids of its enabled endpoints. The result includes every change that was
   * made before the call.
   */
  async get(account: string): Promise<{ index: EndpointIndex; enabled: ReadonlySet<string> }> {
    // Read the revision before the list. If an endpoint changes between the two, the next call then reads the list
    // again.
    const revision = await this.endpoints.revision(account);
    const earlier = this.cache.get(account);
    this.cache.delete(account);
    const isFresh = earlier?.revision === revision && performance.now() - earlier.readAt < MAX_AGE_MS;
    const current = isFresh ? earlier : await this.read(account, revision);
    this.cache.set(account, current);
    for (const oldest of this.cache.keys()) {
      if (this.cache.size <= MAX_ACCOUNTS) break;
      this.cache.delete(oldest);
    }
    return current;
  }

  private async read(account: string, revision: string): Promise<CachedIndex> {
    const readAt = performance.now();
    // Include disabled endpoints, because the store records which events they miss.
    const endpoints = await this.endpoints.list(account);
    const enabled = new Set(endpoints.filter((endpoint) => endpoint.enabled).map(({ id }) => id));
    return { revision, readAt, index: new EndpointIndex(endpoints), enabled };
  }
}
