import type { MessagePage } from '#upstream';
import type { FeedStore } from '../feed-store.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { WalkSource } from '../walk/head-walk.js';
import type { FindKnownIds } from '../walk/page-reader.js';
import type { ReadPage } from '../walk/read-in-parts.js';
import type { PollStart } from './poll-start.js';

/** Outcome of a finished request for the first page: the page or an error. */
export interface FirstPage {
  limit: number;
  outcome: { page: MessagePage } | { error: unknown };
}

/** Source of the pages and of the snapshots of their messages for a read of a contact's newest messages. */
export class HeadSource implements WalkSource {
  /**
   * Snapshots of the messages that were read, as far as they are known. The commit is refused if a snapshot has
   * changed since.
   */
  readonly snapshots = new Map<string, KnownMessage>();

  /** @param firstPage the first page, if it was requested already */
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly start: PollStart,
    private readonly purpose: ReadPurpose,
    private firstPage: FirstPage | undefined,
  ) {}

  readonly read: ReadPage = (page, limit) => {
    const { account, contactId } = this.start;
    const given = this.firstPage;
    this.firstPage = undefined;
    if (given !== undefined && page === 1 && limit === given.limit) return pageOf(given);
    return this.source.listMessages(account, contactId, page, limit, this.purpose);
  };

  readonly known: FindKnownIds = async (ids) => {
    const { account, contactId, resync } = this.start;
    if (resync !== undefined) return new Set();
    const known = await this.store.knownMessages(account, contactId, ids);
    for (const [id, message] of known) this.snapshots.set(id, message);
    return new Set(known.keys());
  };
}

/** Returns page 1 if the earlier request for it succeeded; otherwise throws the error of that request. */
async function pageOf({ outcome }: FirstPage): Promise<MessagePage> {
  if ('page' in outcome) return Promise.resolve(outcome.page);
  throw outcome.error;
}
