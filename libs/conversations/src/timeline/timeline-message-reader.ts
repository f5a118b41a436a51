import {
  type UnsortedMessageListReader,
  type UnsortedMessageListCache,
  MessageListTooLargeError,
} from './unsorted-message-list-reader.js';
import type { PlacedMessage } from './connected-pages.js';
import { CannotReadInTimeOrderError, type OrderedShape, readSortedMessageList } from './ordered-walk.js';
import { comparePositions, type Position } from '../position.js';
import {
  type ListShape,
  MessagesUnavailableError,
  type MessagePages,
  type MessagesPage,
  type RemainingBudgetWait,
  TimelinePageTimeoutError,
  type TimelineEvents,
  type TimelineFeed,
} from './ports.js';
import type { TimelineCursor } from './timeline-cursor.js';

/** Maximum number of upstream requests for one page of a timeline. */
export const MAX_REQUESTS_PER_TIMELINE_PAGE = 5;
/**
 * Time limit for reading one page of a timeline, in milliseconds. After this time, only the first upstream request
 * may still begin, and the page may have fewer entries than requested. The caller receives nothing while the page is
 * read. The idle timeout of the caller's connection must therefore be longer than this limit plus the duration of one
 * upstream request.
 */
export const TIMELINE_PAGE_READ_TIME_LIMIT_MS = 25_000;
/** Maximum time that one call of {@link TimelineMessageReader.read} waits for the budget, in milliseconds. */
const MAX_BUDGET_WAIT_MS = 2_000;
/**
 * If this many consecutive calls of {@link TimelineMessageReader.read} find no message older than the cursor's
 * position, the contact's messages are read as an unsorted list.
 */
const MAX_ATTEMPTS = 8;

/** The messages for one page of a timeline. */
export interface MessagesFound {
  /** Messages older than the cursor's position, newest first. */
  messages: readonly PlacedMessage[];
  /**
   * End of the range that was read: {@link messages} contains every message between the cursor's position and this
   * position. If no such range was read yet, `edge` is the cursor's position, or {@link TIMELINE_START} if the cursor
   * has no position. Undefined if all older messages were read, or if {@link isUnavailable} is true.
   */
  edge: Position | undefined;
  /**
   * Returns what this read found out about the list of messages, as fields of the next page's cursor. The argument is
   * the position at which that page begins; undefined if that page begins at {@link TIMELINE_START}.
   */
  cursorFieldsAt: (position: Position | undefined) => Partial<TimelineCursor>;
  /** True if upstream's messages could not be read, or are unsorted and too many to be sorted in memory. */
  isUnavailable: boolean;
}

/**
 * Position at which a timeline begins. It is newer than every entry, because the newest entry comes first.
 */
export const TIMELINE_START: Position = { at: Infinity };

/** The result for a conversation that has no contact, or whose contact the feed does not know. */
export const NO_MESSAGES: MessagesFound = {
  messages: [],
  edge: undefined,
  cursorFieldsAt: () => ({}),
  isUnavailable: false,
};

/** What {@link TimelineMessageReader} reads from. */
export interface TimelineMessageReaderPorts {
  pages: MessagePages;
  feed: TimelineFeed;
  events: TimelineEvents;
}

/**
 * Reads a contact's messages older than a position, with at most {@link MAX_REQUESTS_PER_TIMELINE_PAGE} upstream
 * requests.
 */
export class TimelineMessageReader {
  constructor(
    private readonly ports: TimelineMessageReaderPorts,
    private readonly readings: UnsortedMessageListCache,
    private readonly now: () => number,
  ) {}

  async read(
    account: string,
    contactId: string,
    cursor: TimelineCursor,
    limit: number,
  ): Promise<MessagesFound> {
    const shape = await this.ports.feed.listShape(account, contactId);
    if (shape === undefined) return NO_MESSAGES;
    const call = new Call(this.ports.pages, account, contactId, this.now);
    try {
      if (isOrdered(shape) && cursor.hasNoOrder !== true) {
        try {
          return await this.readInOrder(call, shape, cursor, limit);
        } catch (error) {
          if (!(error instanceof CannotReadInTimeOrderError)) throw error;
        }
      }
      return await this.readWithoutOrder(call, shape, cursor, limit);
    } catch (error) {
      if (error instanceof MessagesUnavailableError) return { ...NO_MESSAGES, isUnavailable: true };
      throw error;
    }
  }

  private async readInOrder(
    call: Call,
    shape: OrderedShape,
    cursor: TimelineCursor,
    limit: number,
  ): Promise<MessagesFound> {
    const { position: from, index, fixedSize, maxLimit } = cursor;
    const start = {
      ...(from === undefined ? {} : { from }),
      ...(index === undefined ? {} : { index }),
      ...(fixedSize === undefined ? {} : { fixedSize }),
      ...(maxLimit === undefined ? {} : { maxLimit }),
    };
    const walk = await readSortedMessageList(call.read, shape, start, limit, MAX_REQUESTS_PER_TIMELINE_PAGE);
    const hasMoved = walk.edge === undefined || from === undefined || comparePositions(walk.edge, from) < 0;
    const isStuck = walk.isConnected && !hasMoved && !walk.isInterrupted;
    const attempts = (cursor.attempts ?? 0) + 1;
    const mustSortInMemory = isStuck || attempts >= MAX_ATTEMPTS;
    return {
      messages: walk.messages,
      edge: walk.isConnected ? walk.edge : (from ?? TIMELINE_START),
      cursorFieldsAt: (position) => ({
        ...(walk.fixedSize === undefined ? {} : { fixedSize: walk.fixedSize }),
        ...(walk.maxLimit === shape.maxLimit ? {} : { maxLimit: walk.maxLimit }),
        index: walk.indexBefore(position),
        ...(walk.isConnected && hasMoved ? {} : { attempts }),
        ...(mustSortInMemory ? { hasNoOrder: true } : {}),
      }),
      isUnavailable: false,
    };
  }

  private async readWithoutOrder(
    call: Call,
    shape: ListShape,
    cursor: TimelineCursor,
    limit: number,
  ): Promise<MessagesFound> {
    const { account, contactId } = call;
    try {
      const reading = await this.advanced(call, shape);
      // If all messages fit on one page, they are not kept in memory: each call reads the page again.
      if (reading.isComplete && reading.size < shape.fullPage) this.readings.drop(account, contactId);
      if (!reading.isComplete) {
        const edge = cursor.position ?? TIMELINE_START;
        const attempts = (cursor.attempts ?? 0) + 1;
        return { ...NO_MESSAGES, edge, cursorFieldsAt: () => ({ hasNoOrder: true, attempts }) };
      }
      return slice(reading, cursor.position, limit);
    } catch (error) {
      // The reader stays in the cache with `isTooLarge`. So later calls for the contact make no request.
      if (!(error instanceof MessageListTooLargeError)) throw error;
      return { ...NO_MESSAGES, isUnavailable: true };
    }
  }

  /**
   * Reads further pages of a contact's unsorted list of messages, as far as {@link MAX_REQUESTS_PER_TIMELINE_PAGE}
   * allows. Returns the reader, which has all messages that were read so far. If the events since the reading began
   * can no longer be read, returns a new reader without messages.
   */
  private async advanced(call: Call, shape: ListShape): Promise<UnsortedMessageListReader> {
    const { account, contactId } = call;
    const reading =
      this.readings.get(account, contactId) ??
      this.readings.begin(account, contactId, await this.ports.events.end(account));
    return reading.runExclusively(async () => {
      // Calls for the same contact run one after another. If this call waited until its deadline, it makes no
      // request, because the calls before it have already read further pages.
      const left = call.isLate ? 0 : MAX_REQUESTS_PER_TIMELINE_PAGE - call.requests;
      const presentIds = (): Promise<ReadonlySet<string>> => this.ports.feed.presentIds(account, contactId);
      try {
        await reading.advance(call.read, shape, presentIds, left);
      } catch (error) {
        if (!(error instanceof MessagesUnavailableError) || !call.hasRead) throw error;
      }
      const news = await this.ports.events.changesSince(account, contactId, reading.cursor);
      if (news === undefined) {
        this.readings.drop(account, contactId);
        return this.readings.begin(account, contactId, await this.ports.events.end(account));
      }
      reading.apply(news.changes);
      reading.cursor = news.next;
      this.readings.updateSize(account, contactId, reading);
      return reading;
    });
  }
}

/** Makes and counts the upstream requests of one call of {@link TimelineMessageReader.read}. */
class Call {
  requests = 0;
  hasRead = false;
  private readonly remainingWait: RemainingBudgetWait = { leftMs: MAX_BUDGET_WAIT_MS };
  private readonly deadline: number;

  constructor(
    private readonly pages: MessagePages,
    readonly account: string,
    readonly contactId: string,
    private readonly now: () => number,
  ) {
    this.deadline = now() + TIMELINE_PAGE_READ_TIME_LIMIT_MS;
  }

  /** True if the time limit is over. Then only the first request of the call may still begin. */
  get isLate(): boolean {
    return this.now() >= this.deadline;
  }

  /** @throws {MessagesUnavailableError} */
  readonly read = async (page: number, limit: number): Promise<MessagesPage> => {
    if (this.hasRead && this.isLate) throw new TimelinePageTimeoutError();
    this.requests += 1;
    const read = await this.pages.read(this.account, this.contactId, page, limit, this.remainingWait);
    this.hasRead = true;
    return read;
  };
}

function isOrdered(shape: ListShape): shape is OrderedShape {
  return shape.order === 'newestFirst' || shape.order === 'oldestFirst';
}

/**
 * Returns messages of a completely read list: the newest ones that are older than the position `from`. Returns more
 * messages than `limit`, because the caller leaves out messages that are not committed.
 */
function slice(reading: UnsortedMessageListReader, from: Position | undefined, limit: number): MessagesFound {
  const all = reading.newestFirst();
  const start =
    from === undefined ? 0 : all.findIndex(({ position }) => comparePositions(position, from) < 0);
  const found = start < 0 ? [] : all.slice(start, start + 2 * limit + 20);
  return {
    messages: found,
    edge: start + found.length < all.length ? found.at(-1)?.position : undefined,
    cursorFieldsAt: () => ({ hasNoOrder: true }),
    isUnavailable: false,
  };
}
