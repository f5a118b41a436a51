import { describe, expect, it } from '@jest/globals';
import {
  messageRateBucketIndexOf,
  MESSAGE_RATE_BUCKET_COUNT,
  representativeRateOfBucket,
} from './rate-histogram.js';

describe('the buckets for message rates', () => {
  it('each have a representative rate that belongs to the bucket', () => {
    for (let bucket = 0; bucket < MESSAGE_RATE_BUCKET_COUNT; bucket += 1)
      expect(messageRateBucketIndexOf(representativeRateOfBucket(bucket))).toBe(bucket);
  });

  it('represent each rate with an error of at most a sixth', () => {
    for (let rate = 2e-7; rate < 5; rate *= 1.01) {
      expect(Math.abs(representativeRateOfBucket(messageRateBucketIndexOf(rate)) / rate - 1)).toBeLessThan(
        1 / 6,
      );
    }
  });

  it.each([0, -1, NaN, 1e-30, Infinity, 1e9])('include a bucket for the rate %p', (rate) => {
    const bucket = messageRateBucketIndexOf(rate);
    expect(Number.isInteger(bucket) && bucket >= 0 && bucket < MESSAGE_RATE_BUCKET_COUNT).toBe(true);
  });
});
