/**
 * Histogram of delays: maps the index of a bucket to the number of delays in that bucket. From the second bucket on,
 * the upper bound of a bucket is {@link DELAY_BUCKET_WIDTH_RATIO} times its lower bound, so 116 buckets suffice for
 * delays of more than a day. A delay from 10 ms to one day differs by at most 7.3 % from the delay that represents
 * its bucket.
 */
export type DelayHistogram = ReadonlyMap<number, number>;

/** Upper bound of the first bucket of a delay histogram, in milliseconds. */
export const FIRST_DELAY_BUCKET_MAX_MS = 10;
/**
 * Ratio of the upper bound to the lower bound of each bucket of a delay histogram, except the first and the last
 * bucket.
 */
export const DELAY_BUCKET_WIDTH_RATIO = 1.15;
/** Index of the last bucket of a delay histogram. This bucket has no upper bound. */
export const LAST_DELAY_BUCKET_INDEX = 115;

/**
 * Returns the index of the histogram bucket that counts a delay given in milliseconds. A negative delay
 * belongs to the first bucket.
 */
export function delayBucketIndexOf(delayMs: number): number {
  if (delayMs <= FIRST_DELAY_BUCKET_MAX_MS) return 0;
  return Math.min(
    Math.ceil(Math.log(delayMs / FIRST_DELAY_BUCKET_MAX_MS) / Math.log(DELAY_BUCKET_WIDTH_RATIO)),
    LAST_DELAY_BUCKET_INDEX,
  );
}

/**
 * Returns the delay that represents all delays of a histogram bucket, in milliseconds: the geometric mean of the
 * bucket's bounds. For the first bucket, it is the upper bound. The last bucket has no upper bound, and is treated as
 * if the ratio of its bounds were {@link DELAY_BUCKET_WIDTH_RATIO}.
 */
export function representativeDelayOfBucket(bucket: number): number {
  if (bucket <= 0) return FIRST_DELAY_BUCKET_MAX_MS;
  return (
    FIRST_DELAY_BUCKET_MAX_MS * DELAY_BUCKET_WIDTH_RATIO ** (Math.min(bucket, LAST_DELAY_BUCKET_INDEX) - 0.5)
  );
}

/** Returns one histogram that contains the delays of all given histograms. */
export function mergeDelayHistograms(histograms: Iterable<DelayHistogram>): DelayHistogram {
  const merged = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [bucket, count] of histogram) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return merged;
}

/** Returns the total number of delays in a histogram. */
export function countDelays(histogram: DelayHistogram): number {
  return [...histogram.values()].reduce((sum, count) => sum + count, 0);
}

/**
 * Returns percentiles of the delays in a histogram, by the nearest-rank method, in whole milliseconds. If the
 * histogram contains no delays, each percentile is undefined.
 * @param quantiles which percentiles to return, as numbers from 0 to 1, for example 0.95
 */
export function delayPercentiles(
  histogram: DelayHistogram,
  quantiles: readonly number[],
): (number | undefined)[] {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const count = countDelays(histogram);
  return quantiles.map((quantile) => {
    if (count === 0) return undefined;
    const rank = Math.max(Math.ceil(quantile * count), 1);
    let seen = 0;
    for (const [bucket, delays] of buckets) {
      seen += delays;
      if (seen >= rank) return Math.round(representativeDelayOfBucket(bucket));
    }
    return undefined;
  });
}
