import { EndpointIndex } from './endpoint-index.js';
import type { EndpointStore } from './endpoint-store.js';

const MOST_ACCOUNTS = 500;
/** An older build's changes are not all counted: they are seen after so long at the latest. */
const UNCOUNTED_CHANGES_MS = 60_000;

/** An account's endpoints as they were read. */
interface Known {
  revision: string;
  /** By this process' monotonic clock, in ms. */
  readAt: number;
  index: EndpointIndex;
  enabled: ReadonlySet<string>;
}

/** Who wants which events, kept in memory for the accounts that had events last, and read again after each change. */
export class EndpointIndexes {
  private readonly known = new Map<string, Known>();

  constructor(private readonly endpoints: Pick<EndpointStore, 'list' | 'revision'>) {}

  /** As it is now: every change that was made before the call counts. */
  async of(account: string): Promise<{ index: EndpointIndex; enabled: ReadonlySet<string> }> {
    // Before the list: a change in between is read now, and once more.
    const revision = await this.endpoints.revision(account);
    const earlier = this.known.get(account);
    this.known.delete(account);
    const isFresh =
      earlier?.revision === revision && performance.now() - earlier.readAt < UNCOUNTED_CHANGES_MS;
    const known = isFresh ? earlier : await this.read(account, revision);
    this.known.set(account, known);
    for (const first of this.known.keys()) {
      if (this.known.size <= MOST_ACCOUNTS) break;
      this.known.delete(first);
    }
    return known;
  }

  private async read(account: string, revision: string): Promise<Known> {
    const readAt = performance.now();
    // The disabled ones too: the store writes down what they miss.
    const endpoints = await this.endpoints.list(account);
    const enabled = new Set(endpoints.filter((endpoint) => endpoint.enabled).map(({ id }) => id));
    return { revision, readAt, index: new EndpointIndex(endpoints), enabled };
  }
}
