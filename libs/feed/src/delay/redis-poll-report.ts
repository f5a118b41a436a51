import type { AccountKeys } from '#platform';
import { BUCKET_STEP, FIRST_BUCKET_MS, LAST_BUCKET } from './delay-histogram.js';
import { SLOT_LIFE_MS, slotOf } from './delay-window.js';
import type { PollReport } from './poll-report.js';

/** Constants of `poll-report.lua`, for the script that includes it. */
export const REPORT_CONSTANTS = { FIRST_BUCKET_MS, BUCKET_STEP, LAST_BUCKET, SLOT_LIFE_MS };

/** Returns the keys that `poll-report.lua` writes for a poll that began at this time. */
export function reportKeys(keys: AccountKeys, startedAt: number): { facts: string; slot: string } {
  return { facts: factsKey(keys), slot: slotKey(keys, slotOf(startedAt)) };
}

export function factsKey(keys: AccountKeys): string {
  return keys('polls', 'facts');
}

/** @param slot of the window; see `slotOf` */
export function slotKey(keys: AccountKeys, slot: number): string {
  return keys('polls', 'delays', String(slot));
}

/** Returns the arguments that `poll-report.lua` reads. */
export function reportArguments({
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
    ...arrivals.flatMap(({ timestamp, shownAt }) => [
      timestamp ?? '',
      shownAt === undefined ? '' : Math.round(shownAt),
    ]),
  ];
}
