import type { PageRequest } from './page-tail.js';

/**
 * Finds the unreadable messages of a page by requesting smaller pages inside it, one after another. A part that
 * fails is halved until the failing message is found; the rest is then assumed to be readable. Pure.
 *
 * Positions count from 0, from the first message of the contact. A page begins at a multiple of its limit.
 */
export class UnreadableMessageFinder {
  private at: number;
  private readonly end: number;
  /**
   * One of the messages before this position makes a page fail. Undefined while no page has failed since the
   * last message that was found.
   */
  private failsBefore: number | undefined;

  /** @param page a page that failed as a whole */
  constructor({ page, limit }: PageRequest) {
    this.at = (page - 1) * limit;
    this.end = page * limit;
    this.failsBefore = this.end;
  }

  /** Returns the next part to request; undefined if the whole page was covered. */
  next(): PageRequest | undefined {
    if (this.at >= this.end) return undefined;
    const limit = this.largestPart();
    return { page: this.at / limit + 1, limit };
  }

  /** Reports that the part returned by {@link next} was read. */
  succeeded(): void {
    this.at += this.largestPart();
    if (this.failsBefore !== undefined && this.at >= this.failsBefore) this.failsBefore = undefined;
  }

  /**
   * Reports that the part returned by {@link next} failed. Returns true if it was a single message, which is
   * skipped.
   */
  failed(): boolean {
    const limit = this.largestPart();
    if (limit > 1) {
      this.failsBefore = this.at + limit;
      return false;
    }
    this.at += 1;
    this.failsBefore = undefined;
    return true;
  }

  private largestPart(): number {
    const { at, end, failsBefore } = this;
    const maxLimit = failsBefore === undefined ? end - at : Math.ceil((failsBefore - at) / 2);
    for (let limit = maxLimit; limit > 1; limit -= 1) if (at % limit === 0) return limit;
    return 1;
  }
}
