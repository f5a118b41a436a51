/**
 * Histogram of the message rates of an account's contacts: maps the index of a bucket to the number of
 * contacts in this bucket. The polling intervals are planned from this histogram and need no other data about
 * the contacts.
 */
export type RateHistogram = ReadonlyMap<number, number>;

export const MESSAGE_RATE_BUCKET_COUNT = 64;
/**
 * Message rates up to this value belong to bucket 0, in messages per second. The value is about one message
 * in four months.
 */
const LOWEST_PER_SECOND = 1e-7;
const BUCKETS_A_DECADE = 8;

/**
 * Returns the index of the bucket for a message rate, in messages per second. The index is at least 0 and
 * less than {@link MESSAGE_RATE_BUCKET_COUNT}. The rates of neighbouring buckets differ by about a third.
 */
export function messageRateBucketIndexOf(perSecond: number): number {
  if (!(perSecond > LOWEST_PER_SECOND)) return 0;
  const bucket = Math.floor(Math.log10(perSecond / LOWEST_PER_SECOND) * BUCKETS_A_DECADE);
  return Math.min(bucket, MESSAGE_RATE_BUCKET_COUNT - 1);
}

/**
 * Returns the message rate that represents all rates of a bucket, in messages per second: the geometric mean of the
 * bucket's bounds. The first and the last bucket count as if they were as wide as the others, on a logarithmic scale.
 */
export function representativeRateOfBucket(bucket: number): number {
  return LOWEST_PER_SECOND * 10 ** ((bucket + 0.5) / BUCKETS_A_DECADE);
}
