import { LRUCache } from 'lru-cache';
import { comparePositions } from '../position.js';
import type { PlacedMessage } from './connected-pages.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, type ReadPage } from './ordered-walk.js';
import type { ListShape, MessageChange, TimelineMessage } from './ports.js';

/** How long the messages of a contact are kept in memory from the time when their reading begins, in milliseconds. */
const MAX_AGE_MS = 600_000;
/** Max estimated memory for the messages of one contact, in bytes. */
const MAX_CONTACT_BYTES = 16 * 1024 * 1024;
/** Max estimated memory for the messages of all contacts in one process, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Estimated memory per message in addition to its id and its fields, in bytes. */
const MESSAGE_BYTES = 400;
/**
 * Max number of passes. A pass reads a contact's list of messages from its first page to its last. Another pass
 * follows while messages of the contact's snapshot have not been found.
 */
const MAX_PASSES = 20;
/**
 * Max number of consecutive passes that find none of the missing messages of the contact's snapshot. After them, no
 * further pass follows.
 */
const MAX_FRUITLESS_PASSES = 2;

/** Thrown if a contact has too many messages to keep them in memory. */
export class MessageListTooLargeError extends Error {
  constructor() {
    super('the messages of the contact are too many to be sorted in memory');
    this.name = 'MessageListTooLargeError';
  }
}

/** Reads all messages of a contact whose list is unsorted, over several calls, and keeps them in memory. */
export class UnsortedMessageListReader {
  private readonly messages = new Map<string, TimelineMessage>();
  /**
   * Last result of {@link newestFirst}. Undefined if the messages have changed since, or if there is no result yet.
   */
  private sorted: readonly PlacedMessage[] | undefined;
  isComplete = false;
  /** True if there are too many messages to keep them in memory. */
  isTooLarge = false;
  /** Estimated memory of the messages, in bytes, plus 1, because the cache requires a size above 0. */
  bytes = 1;
  private page = 1;
  private passes = 0;
  private fruitlessPasses = 0;
  /**
   * Number of messages of the contact's snapshot that had not been found when the last pass ended. `Infinity` before
   * the end of the first pass.
   */
  private missing = Infinity;
  private idsOfPass = new Set<string>();
  /** Number of elements on the pages that this pass has read. */
  private elementsOfPass = 0;
  private end: Promise<void> = Promise.resolve();

  /**
   * @param cursor cursor of the event log: the changes that events after it report have not been applied yet (see
   * {@link apply}); at first, the end of the event log before the first page of messages is requested
   */
  constructor(public cursor: string) {}

  /** Number of messages that were read so far and are not deleted. */
  get size(): number {
    return this.messages.size;
  }

  /**
   * Returns the messages that were read so far and are not deleted, the newest first. Sorts them only if they changed
   * since the last call.
   */
  newestFirst(): readonly PlacedMessage[] {
    this.sorted ??= Array.from(this.messages.values(), (message) => ({
      message,
      position: { at: message.timestamp ?? -Infinity, id: message.id },
    })).sort((a, b) => comparePositions(b.position, a.position));
    return this.sorted;
  }

  /** Runs `work` once all work from earlier calls of this method has ended. */
  async runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const before = this.end;
    let leave = (): void => undefined;
    this.end = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Reads more of the list, with at most `maxRequests` requests. Messages move between pages while the pages are
   * read, so one pass over the list can miss messages. If messages that polls have found are missing after a pass,
   * the list is read again from its first page. The number of passes is limited.
   * @throws {MessagesUnavailableError}
   * @throws {MessageListTooLargeError}
   */
  async advance(
    read: ReadPage,
    shape: ListShape,
    presentIds: () => Promise<ReadonlySet<string>>,
    maxRequests: number,
  ): Promise<void> {
    if (this.isTooLarge) throw new MessageListTooLargeError();
    for (let requests = 0; requests < maxRequests && !this.isComplete; requests += 1) {
      const { items, count } = await read(this.page, shape.maxLimit);
      const isEnd = count === 0 || this.isRepeated(items, shape) || this.endsList(shape, count);
      for (const message of items) {
        this.put(message);
        this.idsOfPass.add(message.id);
      }
      if (isEnd) {
        await this.endPass(presentIds);
        continue;
      }
      this.page += 1;
      this.elementsOfPass += count;
    }
  }

  /**
   * Brings the messages up to date with changes that events report.
   * @throws {MessageListTooLargeError}
   */
  apply(changes: readonly MessageChange[]): void {
    for (const change of changes) {
      if ('message' in change) this.put(change.message);
      else this.remove(change.deletedId);
    }
  }

  /** Returns true if upstream seems to return the same page again: it may ignore the page number. */
  private isRepeated(items: readonly TimelineMessage[], { length }: ListShape): boolean {
    // A page with only unreadable elements has no ids, so it cannot be recognized as a repeated page. It counts as
    // repeated only if this pass has read as many elements as the list had when its length was last known.
    if (items.length === 0) return this.elementsOfPass >= length;
    return items.every(({ id }) => this.idsOfPass.has(id));
  }

  private endsList({ maxLimit, fullPage, length }: ListShape, count: number): boolean {
    // A page with the documented maximum number of messages is not assumed to be the last one, even if the page limit
    // was higher: upstream may have shortened the page.
    return (
      count < Math.min(maxLimit, fullPage, DOCUMENTED_MAX_MESSAGES_PER_PAGE) &&
      (this.page - 1) * maxLimit + count >= length
    );
  }

  private async endPass(presentIds: () => Promise<ReadonlySet<string>>): Promise<void> {
    this.passes += 1;
    this.page = 1;
    this.idsOfPass = new Set();
    this.elementsOfPass = 0;
    const missing = [...(await presentIds())].filter((id) => !this.messages.has(id)).length;
    this.fruitlessPasses = missing < this.missing ? 0 : this.fruitlessPasses + 1;
    this.missing = missing;
    this.isComplete =
      missing === 0 || this.passes >= MAX_PASSES || this.fruitlessPasses >= MAX_FRUITLESS_PASSES;
  }

  private put(message: TimelineMessage): void {
    this.remove(message.id);
    this.messages.set(message.id, message);
    this.sorted = undefined;
    this.bytes += sizeOf(message);
    if (this.bytes <= MAX_CONTACT_BYTES) return;
    this.isTooLarge = true;
    this.messages.clear();
    this.idsOfPass.clear();
    this.bytes = 1;
    throw new MessageListTooLargeError();
  }

  private remove(id: string): void {
    const found = this.messages.get(id);
    if (found === undefined) return;
    this.messages.delete(id);
    this.sorted = undefined;
    this.bytes -= sizeOf(found);
  }
}

function sizeOf({ id, raw }: TimelineMessage): number {
  return MESSAGE_BYTES + 2 * (id.length + JSON.stringify(raw).length);
}

/**
 * Keeps lists of messages in memory for a limited time. If the memory limit is reached, removes the list that
 * was used least recently.
 */
export class UnsortedMessageListCache {
  private readonly readings: LRUCache<string, UnsortedMessageListReader>;

  /** @param now monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.readings = new LRUCache({
      maxSize: MAX_BYTES,
      sizeCalculation: ({ bytes }, key) => bytes + key.length,
      ttl: MAX_AGE_MS,
      ttlResolution: 0,
      perf: { now },
    });
  }

  get(account: string, contactId: string): UnsortedMessageListReader | undefined {
    return this.readings.get(keyOf(account, contactId));
  }

  /** Creates a reader that has no messages yet, and keeps the reader in the cache. */
  begin(account: string, contactId: string, cursor: string): UnsortedMessageListReader {
    const reading = new UnsortedMessageListReader(cursor);
    this.readings.set(keyOf(account, contactId), reading);
    return reading;
  }

  /**
   * Updates the size of a list in the cache, so that the memory limit applies to its current size. The time at
   * which the list expires does not change.
   */
  updateSize(account: string, contactId: string, reading: UnsortedMessageListReader): void {
    const key = keyOf(account, contactId);
    if (this.readings.peek(key) !== reading) return;
    const ttl = this.readings.getRemainingTTL(key);
    this.readings.delete(key);
    if (ttl > 0) this.readings.set(key, reading, { ttl });
  }

  drop(account: string, contactId: string): void {
    this.readings.delete(keyOf(account, contactId));
  }
}

function keyOf(account: string, contactId: string): string {
  return JSON.stringify([account, contactId]);
}
