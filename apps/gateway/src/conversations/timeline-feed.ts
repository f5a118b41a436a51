import type { CommittedMessageState, ListOrder, ListShape, TimelineFeed } from '#conversations';
import type { ContactState, FeedStore } from '#feed';

/** Page limit that upstream documents as its default, and the larger page limit that the feed tries. */
const DOCUMENTED_LIMIT = 20;
const LARGE_LIMIT = 100;

/** The operations of the feed's store that timelines need. */
export type FeedOfTimeline = Pick<
  FeedStore,
  'contactState' | 'knownMessages' | 'allKnownMessages' | 'expeditePoll'
>;

/** What the feed knows about a contact's messages, for timelines. */
export class StoredTimelineFeed implements TimelineFeed {
  constructor(private readonly store: FeedOfTimeline) {}

  async listShape(account: string, contactId: string): Promise<ListShape | undefined> {
    const state = await this.store.contactState(account, contactId);
    if (state === undefined) return undefined;
    const { longestPage, pollState } = state;
    const { limit, length, pageSize } = pollState;
    const order = orderOf(state);
    const honoursLarge = limit === LARGE_LIMIT || (limit === undefined && longestPage > DOCUMENTED_LIMIT);
    // Upstream's own maximum page length may be between the two limits.
    if (honoursLarge)
      return { order, length, maxLimit: LARGE_LIMIT, fullPage: Math.min(LARGE_LIMIT, longestPage) };
    // A list that is longer than its longest page shows how long the pages are.
    const isCapped = pageSize > 0 && length > pageSize;
    const maxLimit = isCapped ? Math.min(pageSize, DOCUMENTED_LIMIT) : DOCUMENTED_LIMIT;
    const fullPage = isCapped ? pageSize : Math.max(pageSize, longestPage);
    return { order, length, maxLimit, fullPage: Math.min(fullPage, maxLimit) };
  }

  async committed(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CommittedMessageState>> {
    const known = await this.store.knownMessages(account, contactId, ids);
    return new Map([...known].map(([id, { deleted }]) => [id, deleted ? 'deleted' : 'present']));
  }

  async presentIds(account: string, contactId: string): Promise<ReadonlySet<string>> {
    const known = await this.store.allKnownMessages(account, contactId);
    return new Set([...known].filter(([, { deleted }]) => !deleted).map(([id]) => id));
  }

  makeDue(account: string, contactId: string): Promise<void> {
    return this.store.expeditePoll(account, contactId, 0);
  }
}

function orderOf({ pollState: { order, completeAt }, extension }: ContactState): ListOrder {
  // Until all pages were read once, it is unknown on which page of an oldest-first list the newest messages are.
  if (order === 'oldestFirst' && completeAt === undefined) return 'unknown';
  // A timeline ends its read at a message's timestamp, and so would miss misplaced messages.
  return extension.hasMisplacedMessages === true ? 'unsorted' : order;
}
