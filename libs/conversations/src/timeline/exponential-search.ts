/**
 * Exponential search for an index in a list of unknown length and content. The caller reads the list at
 * {@link index}, and then calls {@link raise} or {@link lower}. The search first moves in growing steps, and
 * then halves the range in which the wanted index must be.
 */
export class ExponentialSearch {
  /** Index in the list to try next. */
  index: number;
  private low: number | undefined;
  private high: number | undefined;
  private step = 0;

  constructor(index: number) {
    this.index = index;
  }

  /**
   * Notes that the wanted index is at least `low`, and sets {@link index} to the next index to try.
   * @param size number of elements on a page; step widths are multiples of this number
   */
  raise(low: number, size: number): void {
    this.low = low;
    if (this.high === undefined || this.high <= low) {
      this.high = undefined;
      this.index = low + this.nextStep(size);
    } else this.index = Math.floor((low + this.high) / 2);
  }

  /**
   * Notes that the wanted index is at most `high`, and sets {@link index} to the next index to try.
   * @param size number of elements on a page; step widths are multiples of this number
   */
  lower(high: number, size: number): void {
    this.high = Math.max(high, 0);
    if (this.low === undefined || this.low >= this.high) {
      this.low = undefined;
      this.index = Math.max(this.high - this.nextStep(size), 0);
    } else this.index = Math.floor((this.low + this.high) / 2);
  }

  /**
   * Returns how many elements lie between the page that was read last and the next index to try. The first call
   * returns 0, because the neighbouring page most often contains the wanted element. Later calls return `size`,
   * 2 · `size`, 4 · `size` and so on.
   * @param size number of elements on a page
   */
  private nextStep(size: number): number {
    const step = this.step;
    this.step = step === 0 ? size : step * 2;
    return step;
  }
}
