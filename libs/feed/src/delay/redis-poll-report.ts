import type { AccountKeys } from '#platform';
import { BUCKET_STEP, FIRST_BUCKET_MS, LAST_BUCKET } from './delay-histogram.js';
import { SLOT_LIFE_MS, slotOf } from './delay-window.js';
import type { PollReport } from './poll-report.js';

/** An older message was shown late by upstream, in an import, say: it says nothing of the polls. In milliseconds. */
const LATE_MS = 86_400_000;
/** A timestamp that is further ahead of upstream's clock than this is not one of it. In milliseconds. */
const AHEAD_MS = 60_000;
/** Bounds of the clock difference are written down when they are at least so much closer, in milliseconds. */
const CLOSER_MS = 2;
/** By so much a second two clocks that are kept right may drift apart. */
const DRIFT = 0.0005;

/**
 * How a script that commits a poll records what the account's figures take from it; above all how late it is: a delay
 * goes from the message's timestamp to the commit.
 *
 * `record_report(facts, slot, first)` reads {@link reportArguments} from the index `first` on and returns the index after
 * them. `facts` is a hash of the account, `slot` the hash of the current slot of the window. Needs `now_ms()`.
 *
 * The difference between upstream's clock and Redis': a reply's `Date` (whole seconds) was set between the start of the
 * poll and its commit, so the difference lies between `date - now` and `date + 1000 - start`. Every poll narrows these
 * bounds; the difference is taken as their middle. They widen with time, and start anew where a poll contradicts them,
 * as it does when a clock was set.
 *
 * Fields of `facts`: `low`, `high` (bounds of the difference in ms, upstream less Redis), `at`; `min`, `max` (the bounds
 * of the interval); `skipped`. Of a slot: a bucket's number → delays, `estimated` → how many
 * of these are from the schedule, `late` → messages that were more than a day old, which are in no bucket.
 */
export const RECORD_REPORT = `
local function clock_difference(facts, known, date, from, now)
  local low, high = tonumber(known[1]), tonumber(known[2])
  if low then
    local drift = math.max(now - tonumber(known[3]), 0) * ${DRIFT}
    low, high = low - drift, high + drift
  end
  if date then
    local width, read_low, read_high = low and high - low, date - now, date + 1000 - math.min(from, now)
    if low then low, high = math.max(low, read_low), math.min(high, read_high) end
    local anew = not low or low > high
    if anew then low, high = read_low, read_high end
    -- Bounds that hardly changed are not written: most polls find nothing, and should cost little.
    if anew or width - (high - low) >= ${CLOSER_MS} then
      redis.call('HSET', facts, 'low', string.format('%.1f', low), 'high', string.format('%.1f', high),
        'at', string.format('%d', now))
    end
  end
  return low and (low + high) / 2
end

local function delay_bucket(delay)
  if delay <= ${FIRST_BUCKET_MS} then return 0 end
  return math.min(math.ceil(math.log(delay / ${FIRST_BUCKET_MS}) / math.log(${BUCKET_STEP})), ${LAST_BUCKET})
end

local function record_delay(slot, now, difference, stamp, shown)
  local delay, estimated = nil, false
  if stamp and difference then delay = now + difference - stamp end
  if shown and (not delay or delay < -${AHEAD_MS}) then delay, estimated = now - shown, true end
  if not delay or delay < -${AHEAD_MS} then return end
  if delay > ${LATE_MS} then
    redis.call('HINCRBY', slot, 'late', 1)
  else
    redis.call('HINCRBY', slot, string.format('%d', delay_bucket(delay)), 1)
    if estimated then redis.call('HINCRBY', slot, 'estimated', 1) end
  end
  redis.call('PEXPIRE', slot, ${SLOT_LIFE_MS})
end

local function record_report(facts, slot, first)
  local now, from, date = now_ms(), tonumber(ARGV[first]), tonumber(ARGV[first + 1])
  local known = redis.call('HMGET', facts, 'low', 'high', 'at', 'min', 'max')
  if known[4] ~= ARGV[first + 2] or known[5] ~= ARGV[first + 3] then
    redis.call('HSET', facts, 'min', ARGV[first + 2], 'max', ARGV[first + 3])
  end
  if ARGV[first + 4] ~= '0' then redis.call('HINCRBY', facts, 'skipped', ARGV[first + 4]) end
  local difference = clock_difference(facts, known, date, from, now)
  local at = first + 6
  for _ = 1, tonumber(ARGV[first + 5]) do
    record_delay(slot, now, difference, tonumber(ARGV[at]), tonumber(ARGV[at + 1]))
    at = at + 2
  end
  return at
end
`;

/** `facts` and `slot` of {@link RECORD_REPORT} for a poll that began then. */
export function reportKeys(keys: AccountKeys, startedAt: number): [facts: string, slot: string] {
  return [factsKey(keys), slotKey(keys, slotOf(startedAt))];
}

export function factsKey(keys: AccountKeys): string {
  return keys('polls', 'facts');
}

/** @param slot of the window; see `slotOf` */
export function slotKey(keys: AccountKeys, slot: number): string {
  return keys('polls', 'delays', String(slot));
}

/** What {@link RECORD_REPORT} reads. */
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
