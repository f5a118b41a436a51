/** Searches an index in a list whose length and content are not known: first in growing steps, then by halves. */
export class IndexSearch {
  index: number;
  private low: number | undefined;
  private high: number | undefined;
  private step = 0;

  constructor(index: number) {
    this.index = index;
  }

  /** The searched index is at least `low`. */
  raise(low: number, size: number): void {
    this.low = low;
    if (this.high === undefined || this.high <= low) {
      this.high = undefined;
      this.index = low + this.nextStep(size);
    } else this.index = Math.floor((low + this.high) / 2);
  }

  /** The searched index is at most `high`. */
  lower(high: number, size: number): void {
    this.high = Math.max(high, 0);
    if (this.low === undefined || this.low >= this.high) {
      this.low = undefined;
      this.index = Math.max(this.high - this.nextStep(size), 0);
    } else this.index = Math.floor((this.low + this.high) / 2);
  }

  /** The first step is 0: the searched element is most often on the neighbouring page. */
  private nextStep(size: number): number {
    const step = this.step;
    this.step = step === 0 ? size : step * 2;
    return step;
  }
}
