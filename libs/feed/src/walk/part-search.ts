import type { Stretch } from './page-tail.js';

/**
 * Finds out which messages of a page cannot be read, by asking for smaller pages that lie within it, one after another.
 * What fails is looked for in half as much; once it is found, the rest is taken to be sound again. Pure.
 *
 * Places are counted from 0, from the first message of the contact. A page begins at a multiple of its limit.
 */
export class PartSearch {
  private at: number;
  private readonly end: number;
  /** Something before this place fails; undefined while nothing is known to. */
  private failsBefore: number | undefined;

  /** @param page counts from 1; it was asked for whole, and failed */
  constructor({ page, limit }: Stretch) {
    this.at = (page - 1) * limit;
    this.end = page * limit;
    this.failsBefore = this.end;
  }

  /** What to ask for next; undefined when all of the page was asked for. */
  next(): Stretch | undefined {
    if (this.at >= this.end) return undefined;
    const limit = this.largest();
    return { page: this.at / limit + 1, limit };
  }

  /** What {@link next} named was read. */
  succeeded(): void {
    this.at += this.largest();
    if (this.failsBefore !== undefined && this.at >= this.failsBefore) this.failsBefore = undefined;
  }

  /** What {@link next} named could not be read. Answers whether that was a single message: it is passed over. */
  failed(): boolean {
    const limit = this.largest();
    if (limit > 1) {
      this.failsBefore = this.at + limit;
      return false;
    }
    this.at += 1;
    this.failsBefore = undefined;
    return true;
  }

  private largest(): number {
    const { at, end, failsBefore } = this;
    const most = failsBefore === undefined ? end - at : Math.ceil((failsBefore - at) / 2);
    for (let limit = most; limit > 1; limit -= 1) if (at % limit === 0) return limit;
    return 1;
  }
}
