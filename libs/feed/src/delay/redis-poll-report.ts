import type { AccountKeys } from '#platform';
import {
  DELAY_BUCKET_WIDTH_RATIO,
  FIRST_DELAY_BUCKET_MAX_MS,
  LAST_DELAY_BUCKET_INDEX,
} from './delay-histogram.js';
import { DELAY_STATISTICS_SLOT_TTL_MS, timeSlotNumberAt } from './delay-window.js';
import type { PollReport } from './poll-report.js';

/** The constants that `poll-report.lua` uses. A Redis script that includes `poll-report.lua` needs them. */
export const POLL_REPORT_LUA_CONSTANTS = {
  FIRST_DELAY_BUCKET_MAX_MS,
  DELAY_BUCKET_WIDTH_RATIO,
  LAST_DELAY_BUCKET_INDEX,
  DELAY_STATISTICS_SLOT_TTL_MS,
};

/** Redis keys that `poll-report.lua` writes. */
interface PollReportKeys {
  /** Redis key of the account's clock difference, polling interval, number of skipped messages, and failed polls. */
  facts: string;
  /** Redis key of the histogram of the detection delays in one time slot. */
  slot: string;
}

/**
 * Returns the Redis keys that `poll-report.lua` writes for a poll that started at `startedAt` (milliseconds
 * since 1970).
 */
export function pollReportRedisKeys(keys: AccountKeys, startedAt: number): PollReportKeys {
  return {
    facts: pollStatisticsRedisKey(keys),
    slot: delayHistogramRedisKey(keys, timeSlotNumberAt(startedAt)),
  };
}

export function pollStatisticsRedisKey(keys: AccountKeys): string {
  return keys('polls', 'facts');
}

/**
 * Returns the Redis key of the histogram that counts the detection delays of one time slot of five minutes.
 * @param slot number of the time slot; see `timeSlotNumberAt`
 */
export function delayHistogramRedisKey(keys: AccountKeys, slot: number): string {
  return keys('polls', 'delays', String(slot));
}

/** Converts the measurements of a poll into the arguments that `poll-report.lua` reads. */
export function pollReportLuaArguments({
  startedAt,
  upstreamDate,
  arrivals,
  interval,
  skipped,
}: PollReport): (string | number)[] {
  return [
    Math.round(startedAt),
    upstreamDate ?? '',
    interval.min,
    interval.max,
    skipped ?? 0,
    arrivals.length,
    ...arrivals.flatMap(({ timestamp, estimatedAt }) => [
      timestamp ?? '',
      estimatedAt === undefined ? '' : Math.round(estimatedAt),
    ]),
  ];
}
