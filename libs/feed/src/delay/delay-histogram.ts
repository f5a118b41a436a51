/**
 * Number of delays per bucket. Each bucket is {@link BUCKET_STEP} times as wide as the previous one: 116 buckets cover
 * 10 ms to more than a day with an error of at most 7.3 %.
 */
export type DelayHistogram = ReadonlyMap<number, number>;

/** Upper bound of the first bucket, in milliseconds. */
export const FIRST_BUCKET_MS = 10;
/** Ratio of a bucket's upper bound to its lower bound. */
export const BUCKET_STEP = 1.15;
/** Index of the last bucket, which has no upper bound. */
export const LAST_BUCKET = 115;

/** Returns the bucket of a delay in milliseconds. A negative delay belongs to the first bucket. */
export function delayBucketOf(delayMs: number): number {
  if (delayMs <= FIRST_BUCKET_MS) return 0;
  return Math.min(Math.ceil(Math.log(delayMs / FIRST_BUCKET_MS) / Math.log(BUCKET_STEP)), LAST_BUCKET);
}

/** Returns the delay that stands for a bucket, in milliseconds: the geometric mean of the bucket's bounds. */
export function delayOfBucket(bucket: number): number {
  if (bucket <= 0) return FIRST_BUCKET_MS;
  return FIRST_BUCKET_MS * BUCKET_STEP ** (Math.min(bucket, LAST_BUCKET) - 0.5);
}

/** Adds up several histograms. */
export function mergeHistograms(histograms: Iterable<DelayHistogram>): DelayHistogram {
  const merged = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [bucket, count] of histogram) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return merged;
}

/** Returns the number of delays. */
export function countDelays(histogram: DelayHistogram): number {
  return [...histogram.values()].reduce((sum, count) => sum + count, 0);
}

/**
 * Returns percentiles by nearest rank, in whole milliseconds; undefined without delays.
 * @param quantiles numbers from 0 to 1
 */
export function percentiles(histogram: DelayHistogram, quantiles: readonly number[]): (number | undefined)[] {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const count = countDelays(histogram);
  return quantiles.map((quantile) => {
    if (count === 0) return undefined;
    const rank = Math.max(Math.ceil(quantile * count), 1);
    let seen = 0;
    for (const [bucket, delays] of buckets) {
      seen += delays;
      if (seen >= rank) return Math.round(delayOfBucket(bucket));
    }
    return undefined;
  });
}
