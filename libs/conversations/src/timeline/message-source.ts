import { type FullReading, type FullReadingCache, ReadingTooLargeError } from './full-reading.js';
import type { PlacedMessage } from './coverage.js';
import { NoOrderError, type OrderedShape, walkOrderedList } from './ordered-walk.js';
import { comparePositions, type Position } from '../position.js';
import {
  type ListShape,
  MessagesUnavailableError,
  type MessagePages,
  type MessagesPage,
  type Patience,
  type TimelineEvents,
  type TimelineFeed,
} from './ports.js';
import type { TimelineCursor } from './timeline-cursor.js';

/** Maximum number of upstream requests of one call. */
export const MAX_REQUESTS = 5;
/** How long one call waits for the budget of timelines, in milliseconds. */
const PATIENCE_MS = 2_000;
/** Number of calls without progress after which a paging treats the contact's list as unsorted. */
const MAX_ATTEMPTS = 8;

/** The messages of one page. */
export interface MessagesFound {
  /** Messages older than the cursor's position, newest first. */
  messages: readonly PlacedMessage[];
  /**
   * All messages from this position up to that of the cursor are in {@link messages}. Undefined if no older
   * message follows.
   */
  edge: Position | undefined;
  /** Hints for the cursor of the next page, which begins at the given position. */
  hintsAt: (position: Position | undefined) => Partial<TimelineCursor>;
  /** True if upstream's messages could not be read. */
  isUnavailable: boolean;
}

/** Position of the beginning of a timeline. All entries are older. */
export const BEGINNING: Position = { at: Infinity };

/** No messages, and none to follow. */
export const NO_MESSAGES: MessagesFound = {
  messages: [],
  edge: undefined,
  hintsAt: () => ({}),
  isUnavailable: false,
};

/** What {@link MessageSource} reads from. */
export interface MessageSourcePorts {
  pages: MessagePages;
  feed: TimelineFeed;
  events: TimelineEvents;
}

/** Reads a contact's messages older than a position, with at most {@link MAX_REQUESTS} upstream requests. */
export class MessageSource {
  constructor(
    private readonly ports: MessageSourcePorts,
    private readonly readings: FullReadingCache,
  ) {}

  async read(
    account: string,
    contactId: string,
    cursor: TimelineCursor,
    limit: number,
  ): Promise<MessagesFound> {
    const shape = await this.ports.feed.listShape(account, contactId);
    if (shape === undefined) return NO_MESSAGES;
    const call = new Call(this.ports.pages, account, contactId);
    try {
      if (isOrdered(shape) && cursor.hasNoOrder !== true) {
        try {
          return await this.readInOrder(call, shape, cursor, limit);
        } catch (error) {
          if (!(error instanceof NoOrderError)) throw error;
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
    const walk = await walkOrderedList(call.read, shape, start, limit, MAX_REQUESTS);
    const hasMoved = walk.edge === undefined || from === undefined || comparePositions(walk.edge, from) < 0;
    const isStuck = walk.isConnected && !hasMoved && !walk.isInterrupted;
    const attempts = (cursor.attempts ?? 0) + 1;
    return {
      messages: walk.messages,
      edge: walk.isConnected ? walk.edge : (from ?? BEGINNING),
      hintsAt: (position) => ({
        ...(walk.fixedSize === undefined ? {} : { fixedSize: walk.fixedSize }),
        ...(walk.maxLimit === shape.maxLimit ? {} : { maxLimit: walk.maxLimit }),
        index: walk.indexBefore(position),
        ...(walk.isConnected && hasMoved ? {} : { attempts }),
        // So many messages have the same timestamp that one call cannot read them all.
        ...(isStuck || attempts >= MAX_ATTEMPTS ? { hasNoOrder: true } : {}),
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
      // A contact with one page is read again for each call. Nothing is kept for it.
      if (reading.isComplete && reading.messages.size < shape.fullPage)
        this.readings.drop(account, contactId);
      if (!reading.isComplete) {
        const edge = cursor.position ?? BEGINNING;
        const attempts = (cursor.attempts ?? 0) + 1;
        return { ...NO_MESSAGES, edge, hintsAt: () => ({ hasNoOrder: true, attempts }) };
      }
      return slice(reading, cursor.position, limit);
    } catch (error) {
      // The reading stays in the cache, so that later calls fail without requests.
      if (!(error instanceof ReadingTooLargeError)) throw error;
      return { ...NO_MESSAGES, isUnavailable: true };
    }
  }

  /** Returns the kept or a new reading of the contact, after as many requests as this call may make. */
  private async advanced(call: Call, shape: ListShape): Promise<FullReading> {
    const { account, contactId } = call;
    const reading =
      this.readings.get(account, contactId) ??
      this.readings.begin(account, contactId, await this.ports.events.end(account));
    return reading.alone(async () => {
      const left = MAX_REQUESTS - call.requests;
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

/** The upstream requests of one call. */
class Call {
  requests = 0;
  hasRead = false;
  private readonly patience: Patience = { leftMs: PATIENCE_MS };

  constructor(
    private readonly pages: MessagePages,
    readonly account: string,
    readonly contactId: string,
  ) {}

  readonly read = async (page: number, limit: number): Promise<MessagesPage> => {
    this.requests += 1;
    const read = await this.pages.read(this.account, this.contactId, page, limit, this.patience);
    this.hasRead = true;
    return read;
  };
}

function isOrdered(shape: ListShape): shape is OrderedShape {
  return shape.order === 'newestFirst' || shape.order === 'oldestFirst';
}

/** Returns the messages of a complete reading that are older than a position, and some more than wanted. */
function slice({ messages }: FullReading, from: Position | undefined, limit: number): MessagesFound {
  const older = [...messages.values()]
    .map((message): PlacedMessage => ({
      message,
      position: { at: message.timestamp ?? -Infinity, id: message.id },
    }))
    .filter(({ position }) => from === undefined || comparePositions(position, from) < 0)
    .sort((a, b) => comparePositions(b.position, a.position));
  // Messages that are not committed are left out later.
  const found = older.slice(0, 2 * limit + 20);
  return {
    messages: found,
    edge: found.length < older.length ? found.at(-1)?.position : undefined,
    hintsAt: () => ({ hasNoOrder: true }),
    isUnavailable: false,
  };
}
