import type { MessagePage, UpstreamMessage } from '#upstream';
import { orderOf, type PageOrder } from './page-order.js';

/** Upstream's documented page size; a larger one is not known to be honoured. */
export const PAGE_LIMIT = 20;

/** A contact with more pages than this is read as far as that: so many requests for one contact is a fault upstream. */
const MOST_PAGES = 10_000;

/** While new messages keep turning up, the pages are read again so many times at most. */
const MOST_ROUNDS = 5;

/** After so many pages in a row of which nothing can be read, nothing readable is expected any more. */
const MOST_UNREADABLE = 5;

/** What the walk asks for. */
export interface WalkSource {
  /** One page; counts from 1. */
  read(page: number): Promise<MessagePage>;
  /** Which of these ids were known before this walk. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** What a walk brought. */
export interface WalkResult {
  /** Every message that was seen, once, in its latest form, in the order of service. */
  served: UpstreamMessage[];
  order: PageOrder;
  /** Elements that could not be read. */
  skipped: number;
  /** Upstream's clock at the first page, in milliseconds since 1970, if it said so. */
  date?: number;
}

/**
 * Reads as many pages as are needed to have seen every new message, whatever the order.
 *
 * Where page 1 is known to hold the newest, a round ends with the first page on which nothing is new; elsewhere it
 * reads everything, up to an empty page or one that repeats what the round was already served (`page` ignored). A short
 * page ends nothing: upstream may cap its pages. While a client pages, items shift; so a round of several pages that
 * found something new is followed by another, until one finds nothing new.
 */
export async function walkPages(source: WalkSource, learned: PageOrder): Promise<WalkResult> {
  const walk = new Walk(source, learned);
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    const { pages, foundNew } = await walk.round();
    if (!foundNew || pages === 1) break;
  }
  return walk.result();
}

class Walk {
  private readonly seen = new Map<string, UpstreamMessage>();
  private readonly unreadable = { first: true, count: 0 };
  private date: number | undefined;

  constructor(
    private readonly source: WalkSource,
    private order: PageOrder,
  ) {}

  async round(): Promise<{ pages: number; foundNew: boolean }> {
    const served = new Map<string, UpstreamMessage>();
    let foundNew = false;
    let pages = 0;
    let unreadable = 0;
    while (pages < MOST_PAGES) {
      pages += 1;
      const page = await this.source.read(pages);
      this.note(page);
      const repeats = page.items.every(({ id }) => served.has(id));
      const fresh = await this.fresh(page.items);
      for (const message of page.items) {
        served.set(message.id, message);
        this.seen.set(message.id, message);
      }
      foundNew ||= fresh;
      if (page.items.length === 0 && page.skipped > 0) {
        unreadable += 1;
        if (unreadable === MOST_UNREADABLE) break;
        continue;
      }
      unreadable = 0;
      if (repeats) {
        this.order = learn(this.order, [...served.values()]);
        break;
      }
      if (contradicts(this.order, [...served.values()])) this.order = 'unsorted';
      if (this.order === 'newestFirst' && !fresh) break;
    }
    this.unreadable.first = false;
    return { pages, foundNew };
  }

  result(): WalkResult {
    const { order, date } = this;
    return {
      served: [...this.seen.values()],
      order,
      skipped: this.unreadable.count,
      ...(date === undefined ? {} : { date }),
    };
  }

  private async fresh(items: readonly UpstreamMessage[]): Promise<boolean> {
    const unseen = items.map(({ id }) => id).filter((id) => !this.seen.has(id));
    if (unseen.length === 0) return false;
    const known = await this.source.known(unseen);
    return unseen.some((id) => !known.has(id));
  }

  private note({ date, skipped }: MessagePage): void {
    this.date ??= date;
    if (this.unreadable.first) this.unreadable.count += skipped;
  }
}

/** What is believed after everything was read: what was seen, if it says anything. */
function learn(believed: PageOrder, everything: readonly UpstreamMessage[]): PageOrder {
  const seen = orderOf(everything);
  return seen === 'unknown' ? believed : seen;
}

function contradicts(believed: PageOrder, stretch: readonly UpstreamMessage[]): boolean {
  const seen = orderOf(stretch);
  return believed !== 'unknown' && seen !== 'unknown' && seen !== believed;
}
