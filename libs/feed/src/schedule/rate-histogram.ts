/** Number of contacts per bucket of the rate of change. A scheduler needs to know no more about an account's contacts. */
export type RateHistogram = ReadonlyMap<number, number>;

export const RATE_BUCKETS = 64;
/** Upper bound of bucket 0, in messages per second: about one message in four months. */
const LOWEST_PER_SECOND = 1e-7;
const BUCKETS_A_DECADE = 8;

/** Returns the bucket of a rate, from 0 to {@link RATE_BUCKETS} - 1. Neighbouring buckets differ by about a third. */
export function rateBucketOf(perSecond: number): number {
  if (!(perSecond > LOWEST_PER_SECOND)) return 0;
  const bucket = Math.floor(Math.log10(perSecond / LOWEST_PER_SECOND) * BUCKETS_A_DECADE);
  return Math.min(bucket, RATE_BUCKETS - 1);
}

/** Returns the rate in the middle of a bucket, in messages per second. */
export function rateOfBucket(bucket: number): number {
  return LOWEST_PER_SECOND * 10 ** ((bucket + 0.5) / BUCKETS_A_DECADE);
}
