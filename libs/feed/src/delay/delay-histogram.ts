/**
 * How many delays fell into each bucket. A bucket is {@link BUCKET_STEP} times as wide as the one before it, so that 116
 * numbers cover 10 ms to more than a day with an error of at most 7.3 % in either direction.
 */
export type DelayHistogram = ReadonlyMap<number, number>;

/** The first bucket holds all delays up to this, in milliseconds. */
export const FIRST_BUCKET_MS = 10;
/** The upper bound of a bucket, divided by its lower one. */
export const BUCKET_STEP = 1.15;
/** The last bucket: it holds everything that is too long for the others. */
export const LAST_BUCKET = 115;

/** The bucket that a delay in milliseconds belongs to; a negative one counts as none. */
export function bucketOf(delayMs: number): number {
  if (delayMs <= FIRST_BUCKET_MS) return 0;
  return Math.min(Math.ceil(Math.log(delayMs / FIRST_BUCKET_MS) / Math.log(BUCKET_STEP)), LAST_BUCKET);
}

/** What the delays of a bucket count as: the geometric middle of its bounds, in milliseconds. */
export function delayOf(bucket: number): number {
  if (bucket <= 0) return FIRST_BUCKET_MS;
  return FIRST_BUCKET_MS * BUCKET_STEP ** (Math.min(bucket, LAST_BUCKET) - 0.5);
}

/** All delays of several histograms. */
export function mergeHistograms(histograms: Iterable<DelayHistogram>): DelayHistogram {
  const merged = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [bucket, count] of histogram) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return merged;
}

/** How many delays there are. */
export function countOf(histogram: DelayHistogram): number {
  return [...histogram.values()].reduce((sum, count) => sum + count, 0);
}

/**
 * Percentiles by nearest rank, in whole milliseconds: of the delays, at least the share `quantile` is not longer.
 * Undefined each where there are no delays.
 * @param quantiles from 0 to 1
 */
export function percentiles(histogram: DelayHistogram, quantiles: readonly number[]): (number | undefined)[] {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const count = countOf(histogram);
  return quantiles.map((quantile) => {
    if (count === 0) return undefined;
    const rank = Math.max(Math.ceil(quantile * count), 1);
    let seen = 0;
    for (const [bucket, delays] of buckets) {
      seen += delays;
      if (seen >= rank) return Math.round(delayOf(bucket));
    }
    return undefined;
  });
}
