import {
  type MessagePage,
  UpstreamError,
  UpstreamReplyError,
  type UpstreamMessage,
  UpstreamStatusError,
  UpstreamUnreachableError,
} from '#upstream';
import { FAILS, inReadableParts, type IsAboutOneMessage, type ReadPage } from './page-reading.js';

/** Upstream's documented page size. */
export const PAGE_LIMIT = 20;
/** What is asked for where many messages are read, once upstream has shown that it honours more than that. */
export const LARGE_LIMIT = 100;
/**
 * Pages are taken to hold at least so many: were it one, a first message could not be told from a full page, and each
 * look at it would cost a second request.
 */
const MIN_PAGE_SIZE = 2;

/** Asks which of these ids are known already. */
export type KnownIds = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** One page as it was read. */
export interface PageRead {
  items: readonly UpstreamMessage[];
  ids: readonly string[];
  limit: number;
  /** With the elements that could not be read. */
  count: number;
  /** Whether no page that was asked for with this limit was longer. */
  full: boolean;
  /** The ids that were neither known before nor shown by an earlier page of this read. */
  fresh: readonly string[];
  /** Whether its last message was not known before. */
  endsNew: boolean;
  /** Whether its first message was not known before. */
  startsNew: boolean;
  /** Its ids that this pass had not served before. */
  added: ReadonlySet<string>;
  /** Whether all of it was served since the last call of {@link PageReader.beginPass}. */
  repeats: boolean;
}

/** What a reader must know of a contact's pages to begin with. */
export interface PageSizes {
  /** The longest page that upstream has shown: a shorter one holds the end. */
  pageSize: number;
}

/** Reads pages of one contact one by one, and keeps account of what they showed. */
export class PageReader {
  /** Every message that was read and not {@link release}d, in its latest form, in the order of service. */
  readonly seen = new Map<string, UpstreamMessage>();
  /** The ids of everything that was read. */
  readonly ids = new Set<string>();
  /** What was not known before. */
  readonly news = new Set<string>();
  /** What tells the elements apart that could not be read. */
  readonly unreadable = new Set<string>();
  pageSize: number;
  /** The longest page of this read, whatever limit it was asked for with. */
  longestPage = 0;
  /** Upstream's clock at the first page, in milliseconds since 1970, if it said so. */
  date: number | undefined;
  /** Elements that could not be read, since the last call of {@link beginPass}. */
  skipped = 0;
  /** Whether the last page was asked for with more than the documented limit. */
  askedForMuch = false;
  /** How many requests were made. */
  requests = 0;
  /**
   * Whether a message was served twice in this pass where the list cannot just have grown at its beginning: what moves
   * from the end of one page to the beginning of the next one hides nothing.
   */
  servedTwice = false;
  /** Ids of this pass. */
  private served = new Set<string>();
  /** The last page of this pass that showed a message. */
  private previousIds: readonly string[] = [];
  /** What that was before the last page was read. */
  private idsBefore: readonly string[] = [];
  /** What the last page added to it. */
  private lastServed: readonly string[] = [];
  private lastSkipped = 0;
  /** The longest page that was asked for with the large limit. */
  private largestPage = 0;
  private readonly read: ReadPage;
  private readonly readPlain: ReadPage;

  constructor(
    read: ReadPage,
    private readonly known: KnownIds,
    { pageSize }: PageSizes,
    isAboutOneMessage?: IsAboutOneMessage,
  ) {
    this.pageSize = Math.max(pageSize, MIN_PAGE_SIZE);
    const counted: ReadPage = (page, limit) => {
      this.askedForMuch = limit > PAGE_LIMIT;
      this.requests += 1;
      return read(page, limit);
    };
    const sizeOf = (limit: number): number =>
      limit > PAGE_LIMIT ? this.largestPage || limit : Math.min(limit, this.pageSize);
    this.readPlain = inReadableParts(counted, sizeOf);
    this.read = inReadableParts(counted, sizeOf, isAboutOneMessage);
  }

  /** From now on pages repeat others only if they repeat those that follow. */
  beginPass(): void {
    this.served = new Set();
    this.previousIds = [];
    this.servedTwice = false;
    this.skipped = 0;
    this.lastSkipped = 0;
  }

  /** Forgets the messages, but not their ids: what was committed need not be kept. */
  release(): void {
    this.seen.clear();
    this.unreadable.clear();
  }

  /** The last page is to be read again, and must not repeat itself then. */
  takeBack(): void {
    for (const id of this.lastServed) this.served.delete(id);
    this.lastServed = [];
    this.previousIds = this.idsBefore;
    this.skipped -= this.lastSkipped;
    this.lastSkipped = 0;
  }

  /** How many different messages this pass has served. */
  get servedCount(): number {
    return this.served.size;
  }

  async take(page: number, limit = PAGE_LIMIT): Promise<PageRead> {
    return this.account(await this.read(page, limit), limit);
  }

  /** {@link take}, but a page that fails is not read in parts, unless it is too large. */
  async takePlain(page: number, limit: number): Promise<PageRead> {
    return this.account(await this.readPlain(page, limit), limit);
  }

  /** Stands for a single message that upstream fails to show. */
  unshown(): PageRead {
    this.skipped += 1;
    this.lastSkipped = 1;
    this.idsBefore = this.previousIds;
    this.unreadable.add(FAILS);
    this.lastServed = [];
    const nothing = { items: [], ids: [], fresh: [], added: new Set<string>(), full: false };
    return { ...nothing, limit: 1, count: 1, endsNew: false, startsNew: false, repeats: false };
  }

  /** Parts that cover one page, as that page. */
  joined(parts: readonly PageRead[], limit: number): PageRead {
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    return {
      items: parts.flatMap(({ items }) => items),
      ids: parts.flatMap(({ ids }) => ids),
      fresh: parts.flatMap(({ fresh }) => fresh),
      added: new Set(parts.flatMap(({ added }) => [...added])),
      ...{ limit, count, full: count >= limit },
      endsNew: parts.at(-1)?.endsNew === true,
      startsNew: parts[0]?.startsNew === true,
      repeats: parts.every(({ repeats }) => repeats),
    };
  }

  private async account(read: MessagePage, limit: number): Promise<PageRead> {
    const { items, skipped, unreadable = [], date } = read;
    this.date ??= date;
    this.skipped += skipped;
    this.lastSkipped = skipped;
    for (const element of unreadable) this.unreadable.add(element);
    const count = items.length + skipped;
    // Without what cannot be read, which may stand there besides: taken for too long, every page would look like the last.
    this.longestPage = Math.max(this.longestPage, items.length);
    if (limit > PAGE_LIMIT) this.largestPage = Math.max(this.largestPage, items.length);
    // Who serves so many on a larger page serves as many on one of the documented size.
    const onSmall = limit > PAGE_LIMIT ? Math.min(items.length, PAGE_LIMIT) : items.length;
    this.pageSize = Math.max(this.pageSize, onSmall);
    const full = count >= (limit > PAGE_LIMIT ? this.largestPage : Math.min(this.pageSize, limit));
    const ids = items.map(({ id }) => id);
    const repeats = ids.every((id) => this.served.has(id));
    const unseen = ids.filter((id) => !this.ids.has(id));
    const known = unseen.length === 0 ? new Set<string>() : await this.known(unseen);
    const fresh = unseen.filter((id) => !known.has(id));
    for (const id of fresh) this.news.add(id);
    const added = new Set(ids.filter((id) => !this.served.has(id)));
    this.lastServed = [...added];
    const repeated = ids.length - added.size;
    this.servedTwice ||= repeated > 0 && !this.movedDown(ids, repeated);
    this.idsBefore = this.previousIds;
    if (ids.length > 0) this.previousIds = ids;
    for (const message of items) {
      this.served.add(message.id);
      this.ids.add(message.id);
      this.seen.set(message.id, message);
    }
    const last = ids.at(-1);
    const endsNew = last !== undefined && this.news.has(last);
    const startsNew = ids[0] !== undefined && this.news.has(ids[0]);
    return { items, ids, limit, count, full, fresh, added, endsNew, startsNew, repeats };
  }

  /** Whether this page begins with the end of the one before it. */
  private movedDown(ids: readonly string[], repeated: number): boolean {
    const end = this.previousIds.slice(-repeated);
    return end.length === repeated && end.every((id, i) => id === ids[i]);
  }

  /** An empty page right behind a full one may be a hole: then the list goes on after it. */
  async goesOn(last: PageRead, empty: number): Promise<boolean> {
    if (!last.full) return false;
    const { items, skipped } = await this.read(empty + 1, last.limit);
    return items.length + skipped > 0;
  }
}

/** Whether upstream may have failed because it was asked for so much. */
export function mayBeAboutSize(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return ![401, 403, 404, 429].includes(error.status);
  return error instanceof UpstreamError && !(error instanceof UpstreamUnreachableError);
}

/** Whether a page failed by an answer of upstream's: one of the messages on it may be the cause. */
export function mayBeAboutContent(error: unknown): boolean {
  return (
    (error instanceof UpstreamStatusError || error instanceof UpstreamReplyError) && mayBeAboutSize(error)
  );
}
