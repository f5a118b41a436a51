import { isMissingPageError, type MessagePage } from '#upstream';
import type { FeedStore } from '../feed-store.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';

/** One contact whose pages are read: where its pages and snapshots come from, and why they are read. */
export interface ContactSource {
  account: string;
  contactId: string;
  upstream: Pick<FeedSource, 'listMessages'>;
  purpose: ReadPurpose;
  /** Contains the snapshots of the known messages. Absent if no message counts as known. */
  store?: Pick<FeedStore, 'knownMessages'>;
  /** The first page, if it was requested already. Used only if the read begins with the same request. */
  firstPage?: FirstPage | undefined;
}

/** Outcome of a finished request for the first page: the page or an error. */
export interface FirstPage {
  limit: number;
  outcome: { page: MessagePage } | { error: unknown };
}

/** Time of one reply of upstream, by two clocks. */
export interface ReplyTime {
  /** Time in the `Date` header of the reply, in milliseconds since 1970 by upstream's clock. */
  date: number;
  /** When the headers of the reply arrived, by `performance.now()`. */
  arrivedAt: number;
}

/** Returns the time of a reply that was just read; undefined if the reply had no `Date` header. */
export function replyTimeOf({
  date,
  arrivedAt = performance.now(),
}: Pick<MessagePage, 'date' | 'arrivedAt'>): ReplyTime | undefined {
  return date === undefined ? undefined : { date, arrivedAt };
}

/** Requests pages of one contact from upstream, one after the other. */
export class PageRequests {
  /** Number of requests, including that of a first page that was requested already. */
  count = 0;
  /** True if the limit of the last request was above the documented page size. */
  askedForLargePage = false;
  /** Time of the first reply with a `Date` header. */
  firstReply: ReplyTime | undefined;
  /**
   * Time of the latest reply that was a page. Undefined before the first such reply, if the reply had no `Date`
   * header, or if upstream has answered since then that a page does not exist.
   */
  latestReply: ReplyTime | undefined;
  private hasFoundMessage = false;
  private firstPage: FirstPage | undefined;

  constructor(private readonly contact: ContactSource) {
    this.firstPage = contact.firstPage;
  }

  /** Requests a page. A page after the last one is empty, even if upstream answers that it does not exist. */
  async send(page: number, limit: number): Promise<MessagePage> {
    this.askedForLargePage = limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    try {
      const reply = await this.request(page, limit);
      this.latestReply = replyTimeOf(reply);
      this.firstReply ??= this.latestReply;
      this.hasFoundMessage ||= reply.items.length > 0;
      return reply;
    } catch (error) {
      if (page === 1 || !isMissingPageError(error)) throw error;
      // The page is after the last one, unless the contact does not exist. If no message was found yet, a request for
      // one message shows whether the contact exists.
      if (!this.hasFoundMessage) await this.request(1, 1);
      this.latestReply = undefined;
      return { items: [], skipped: 0 };
    }
  }

  private async request(page: number, limit: number): Promise<MessagePage> {
    this.count += 1;
    const given = this.firstPage;
    this.firstPage = undefined;
    if (given !== undefined && page === 1 && limit === given.limit) {
      if ('page' in given.outcome) return given.outcome.page;
      throw given.outcome.error;
    }
    const { upstream, account, contactId, purpose } = this.contact;
    return upstream.listMessages(account, contactId, page, limit, purpose);
  }
}
