import type { PageRequest } from './page-tail.js';

/**
 * After this number of consecutive failing messages, the messages that follow are requested one by one until one of
 * them can be read.
 */
const MAX_CONSECUTIVE_SEARCHES = 2;

/**
 * Decides which parts of a failed page to request, to find the messages that make the page fail. A part is a smaller
 * page inside the page. A part that fails is halved until the failing message is found. The rest of the page is then
 * assumed to be readable, unless several consecutive messages fail. This class sends no requests.
 *
 * The fields `at`, `end` and `failsBefore` are indexes in the contact's list of messages, counted from 0. Each part
 * begins at a multiple of its limit.
 */
export class UnreadableMessageFinder {
  private at: number;
  private readonly end: number;
  /**
   * End (exclusive) of a range of the contact's list that contains a failing message. The range begins at the index
   * `at`. Undefined if no failing message is known.
   */
  private failsBefore: number | undefined;
  /** Number of consecutive failing messages right before the index `at`. */
  private skippedInARow = 0;

  /** @param page the page that upstream failed to return */
  constructor({ page, limit }: PageRequest) {
    this.at = (page - 1) * limit;
    this.end = page * limit;
    this.failsBefore = this.end;
  }

  /** Returns the next part of the page to request; undefined if no part is left. */
  next(): PageRequest | undefined {
    if (this.at >= this.end) return undefined;
    const limit = this.largestPart();
    return { page: this.at / limit + 1, limit };
  }

  /** Must be called after a successful read of the part of the page that {@link next} returned. */
  succeeded(): void {
    this.at += this.largestPart();
    this.skippedInARow = 0;
    if (this.failsBefore !== undefined && this.at >= this.failsBefore) this.failsBefore = undefined;
  }

  /**
   * Must be called if upstream failed to return the part of the page that was requested last. If the part is a single
   * message, skips the message and returns true. Otherwise returns false, and {@link next} returns a smaller part.
   */
  failed(): boolean {
    const limit = this.largestPart();
    if (limit > 1) {
      this.failsBefore = this.at + limit;
      return false;
    }
    this.skipMessage();
    return true;
  }

  /** Skips the next message of the page, because upstream fails to return it. */
  skipMessage(): void {
    this.at += 1;
    this.skippedInARow += 1;
    this.failsBefore = undefined;
  }

  private largestPart(): number {
    if (this.skippedInARow >= MAX_CONSECUTIVE_SEARCHES) return 1;
    const { at, end, failsBefore } = this;
    const maxLimit = failsBefore === undefined ? end - at : Math.ceil((failsBefore - at) / 2);
    for (let limit = maxLimit; limit > 1; limit -= 1) if (at % limit === 0) return limit;
    return 1;
  }
}
