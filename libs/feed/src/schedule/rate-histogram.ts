/** How many contacts there are in each bucket of rates: all that a process has to know of an account's contacts. */
export type RateHistogram = ReadonlyMap<number, number>;

export const RATE_BUCKETS = 64;
/** One message in four months, and less. */
const LOWEST_PER_SECOND = 1e-7;
const BUCKETS_A_DECADE = 8;

/** The bucket of a rate, from 0 to {@link RATE_BUCKETS} - 1; its neighbours are a third apart. */
export function bucketOf(perSecond: number): number {
  if (!(perSecond > LOWEST_PER_SECOND)) return 0;
  const bucket = Math.floor(Math.log10(perSecond / LOWEST_PER_SECOND) * BUCKETS_A_DECADE);
  return Math.min(bucket, RATE_BUCKETS - 1);
}

/** The rate in the middle of a bucket, in messages a second. */
export function rateOfBucket(bucket: number): number {
  return LOWEST_PER_SECOND * 10 ** ((bucket + 0.5) / BUCKETS_A_DECADE);
}
