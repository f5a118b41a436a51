import { EndpointIndex } from './endpoint-index.js';
import type { EndpointStore } from './endpoint-store.js';

/** Max number of cached accounts. */
const MAX_ACCOUNTS = 500;
/** Max age of a cached index, in milliseconds. Older builds do not count all changes in the revision. */
const MAX_AGE_MS = 60_000;

/** The cached endpoints of one account. */
interface CachedIndex {
  revision: string;
  /** Time of reading by `performance.now()`, in milliseconds. */
  readAt: number;
  index: EndpointIndex;
  /** Ids of the enabled endpoints. */
  enabled: ReadonlySet<string>;
}

/** LRU cache of the endpoint indexes of accounts. Rereads an index after each change of the account's endpoints. */
export class EndpointIndexes {
  /** By account, least recently used first. */
  private readonly cache = new Map<string, CachedIndex>();

  constructor(private readonly endpoints: Pick<EndpointStore, 'list' | 'revision'>) {}

  /** Returns the index of an account and the ids of its enabled endpoints. Includes every change before the call. */
  async get(account: string): Promise<{ index: EndpointIndex; enabled: ReadonlySet<string> }> {
    // The revision is read before the list, so that a change between the two causes a second read, not a stale index.
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
    // Includes disabled endpoints, because the store records their gaps.
    const endpoints = await this.endpoints.list(account);
    const enabled = new Set(endpoints.filter((endpoint) => endpoint.enabled).map(({ id }) => id));
    return { revision, readAt, index: new EndpointIndex(endpoints), enabled };
  }
}
