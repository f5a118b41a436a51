import type { UpstreamMessage } from '#upstream';
import type { PageOrder } from './page-order.js';

/**
 * Maximum number of older messages between a message and the end of the list at which new messages appear, if the
 * list counts as sorted. Many services sort messages by the time at which they stored them, which may differ a little
 * from the timestamps. New messages still appear at one end of such a list, so most reads need only one page.
 */
const MAX_MISPLACEMENT = 5;
/** If pages have fewer than 20 messages, this share of a page, rounded down, replaces {@link MAX_MISPLACEMENT}. */
const MAX_SHARE_OF_PAGE = 1 / 4;
/**
 * While the order of a list is being learned, this share of the list, rounded down, replaces {@link MAX_MISPLACEMENT}
 * if it is smaller. Otherwise, a short list in random order would look sorted too often. Consecutive messages with
 * equal timestamps count as one message, because they do not show the order.
 */
const MAX_SHARE_OF_LIST = 1 / 10;

/** What the timestamps of messages show about the order of a list. */
export interface ObservedOrder {
  order: PageOrder;
  /** True if `order` is `newestFirst` or `oldestFirst`, and some messages are not where their timestamps put them. */
  hasMisplacedMessages: boolean;
}

/**
 * Determines the order of messages from their timestamps. Ignores messages without a timestamp.
 * @param pageSize number of messages on the longest page of the contact so far
 */
export function messageOrderOf(served: readonly UpstreamMessage[], pageSize: number): ObservedOrder {
  const seen = new MessageOrderDetector();
  seen.add(served);
  return seen.observedOrder(pageSize);
}

/**
 * Returns what the timestamps of messages on one page say about the assumed order of the list: they `confirm` it,
 * they show that a message is `misplaced`, or they `contradict` it. An order that is not known or not sorted is
 * always confirmed.
 * @param pageSize number of messages on the longest page of the contact so far
 */
export function compareWithAssumedOrder(
  assumed: PageOrder,
  messages: readonly UpstreamMessage[],
  pageSize: number,
): 'confirm' | 'misplaced' | 'contradict' {
  if (assumed !== 'newestFirst' && assumed !== 'oldestFirst') return 'confirm';
  const seen = new MessageOrderDetector();
  seen.add(messages);
  const places = seen.maxMisplacementFrom(assumed);
  if (places === 0) return 'confirm';
  return places <= allowedMisplacement(pageSize) ? 'misplaced' : 'contradict';
}

/**
 * Returns by how many places messages may be misplaced in a list that counts as sorted.
 * @param pageSize number of messages on the longest page of the contact so far
 */
export function allowedMisplacement(pageSize: number): number {
  return Math.min(Math.floor(pageSize * MAX_SHARE_OF_PAGE), MAX_MISPLACEMENT);
}

/** Determines the order of a list that is read page by page. Does not store the messages of the pages. */
export class MessageOrderDetector {
  /** Number of messages. Consecutive messages with equal timestamps count as one. */
  private count = 0;
  private previous: number | undefined;
  private readonly olderBefore = new OlderBeforeCounter();
  private readonly olderAfter = new OlderAfterCounter();

  add(messages: readonly UpstreamMessage[]): void {
    for (const { timestamp } of messages) {
      if (timestamp === undefined) continue;
      if (timestamp !== this.previous) this.count += 1;
      this.previous = timestamp;
      this.olderBefore.add(timestamp);
      this.olderAfter.add(timestamp);
    }
  }

  /**
   * Returns by how many places the messages differ from an order: the largest number of older messages between one
   * message and the end of the list at which new messages appear, at most `MAX_MISPLACEMENT + 1`. When a message was
   * new, it was at most this number of places from that end.
   */
  maxMisplacementFrom(order: 'newestFirst' | 'oldestFirst'): number {
    return order === 'newestFirst' ? this.olderBefore.max : this.olderAfter.max;
  }

  /** @param pageSize number of messages on the longest page of the contact so far */
  observedOrder(pageSize: number): ObservedOrder {
    const fromNewestFirst = this.maxMisplacementFrom('newestFirst');
    const fromOldestFirst = this.maxMisplacementFrom('oldestFirst');
    const places = Math.min(fromNewestFirst, fromOldestFirst);
    if (fromNewestFirst === fromOldestFirst)
      return { order: places === 0 ? 'unknown' : 'unsorted', hasMisplacedMessages: false };
    if (places > Math.min(allowedMisplacement(pageSize), Math.floor(this.count * MAX_SHARE_OF_LIST)))
      return { order: 'unsorted', hasMisplacedMessages: false };
    const order = fromNewestFirst < fromOldestFirst ? 'newestFirst' : 'oldestFirst';
    return { order, hasMisplacedMessages: places > 0 };
  }
}

/** Counts how many older messages are listed before each message, up to `MAX_MISPLACEMENT + 1`. */
class OlderBeforeCounter {
  /** The largest count of any message so far. */
  max = 0;
  /** The oldest timestamps so far, in ascending order. */
  private readonly oldest: number[] = [];

  add(timestamp: number): void {
    const index = this.oldest.findIndex((one) => one >= timestamp);
    const older = index === -1 ? this.oldest.length : index;
    this.max = Math.max(this.max, older);
    if (older > MAX_MISPLACEMENT) return;
    this.oldest.splice(older, 0, timestamp);
    if (this.oldest.length > MAX_MISPLACEMENT + 1) this.oldest.pop();
  }
}

/** Counts how many older messages are listed after each message, up to `MAX_MISPLACEMENT + 1`. */
class OlderAfterCounter {
  /** At index `n`: the newest timestamp of all messages after which at least `n` older messages are listed. */
  private readonly newest: number[] = [];

  /** The largest count of any message so far. */
  get max(): number {
    return Math.max(this.newest.length - 1, 0);
  }

  add(timestamp: number): void {
    for (let n = Math.min(this.newest.length - 1, MAX_MISPLACEMENT); n >= 0; n -= 1) {
      const newest = this.newest[n];
      if (newest !== undefined && newest > timestamp) this.newest[n + 1] = newest;
    }
    this.newest[0] = Math.max(this.newest[0] ?? -Infinity, timestamp);
  }
}
