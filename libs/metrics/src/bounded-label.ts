/** Value of a label for everything above its bound. */
const REST = 'other';

/**
 * Bounds the number of values of a label, because each value is a time series that the process and Prometheus keep.
 * The first values get series of their own, and all later ones share the value `other`.
 */
export class BoundedLabel {
  private readonly values = new Set<string>();

  /** @param max maximum number of values beside `other` */
  constructor(private readonly max: number) {}

  /** Returns the value itself, or `other` if the label has enough values. */
  valueOf(value: string): string {
    if (this.values.has(value)) return value;
    if (this.values.size >= this.max) return REST;
    this.values.add(value);
    return value;
  }
}
