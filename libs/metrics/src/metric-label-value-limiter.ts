/** Label value that stands for every value beyond the maximum number of values. */
const REST = 'other';

/**
 * Limits the number of values of a metric's label, because the process and Prometheus store a time series for each
 * value. Each of the first values has its own time series until the process ends. All later values share the time
 * series of the value `other`.
 */
export class MetricLabelValueLimiter {
  private readonly values = new Set<string>();

  /**
   * @param max maximum number of values of the label; the value `other`, which stands for all later values, is not
   * counted
   */
  constructor(private readonly max: number) {}

  /**
   * Returns the value itself. Returns the text "other" instead if the value is new and the label already has the
   * maximum number of values.
   */
  valueOf(value: string): string {
    if (this.values.has(value)) return value;
    if (this.values.size >= this.max) return REST;
    this.values.add(value);
    return value;
  }
}
