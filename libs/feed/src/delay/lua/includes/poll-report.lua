--- Records the measurements of a poll in the account's statistics, above all the detection delays.
-- A detection delay is the time from a message's timestamp to the commit of its event.
--
-- Difference between upstream's clock and Redis' clock: upstream set the `Date` of its reply (in whole seconds)
-- between the start of the poll and its commit. So the difference lies between `date - now` and `date + 1000 -
-- start`. Every poll narrows these bounds, and their middle is used. The bounds widen with time. They are
-- replaced when a poll contradicts them, for example after a clock was set.
--
-- Fields of `facts`: `low` and `high`, bounds of the difference in ms (upstream minus Redis), and `at`, the time of
-- these bounds; `min` and `max`, bounds of the polling interval; `skipped`, number of skipped elements. While polls
-- fail and none succeeds, there are also the fields that `end-poll.lua` describes. Fields of a slot: the
-- number of a bucket -> number of delays; `estimated` -> number of these delays that are estimated from the schedule;
-- `late` -> number of messages older than a day, which are in no bucket.
-- @constant FIRST_DELAY_BUCKET_MAX_MS    Upper bound of the first bucket, in ms.
-- @constant DELAY_BUCKET_WIDTH_RATIO      Ratio of the upper bound of a bucket to its lower bound.
-- @constant LAST_DELAY_BUCKET_INDEX       Number of the last bucket.
-- @constant DELAY_STATISTICS_SLOT_TTL_MS  Time for which a slot of the window is kept, in ms.
--- @include "@platform/redis/lua/includes/now.lua"

-- Maximum delay that is measured, in ms. A longer delay means that upstream returned an old message for the first time,
-- for example after an import.
local LATE_MS = 86400000
-- Maximum time by which a timestamp may be ahead of upstream's clock, in ms. A timestamp that is further ahead comes
-- from another clock.
local AHEAD_MS = 60000
-- Bounds are written only if they became closer by at least this many ms.
local CLOSER_MS = 2
-- Maximum drift between two synchronized clocks, in seconds per second.
local DRIFT = 0.0005

local function clock_difference(facts, known, date, from, now)
  local low, high = tonumber(known[1]), tonumber(known[2])
  if low then
    local drift = math.max(now - tonumber(known[3]), 0) * DRIFT
    low, high = low - drift, high + drift
  end
  if date then
    local width, read_low, read_high = low and high - low, date - now, date + 1000 - math.min(from, now)
    if low then low, high = math.max(low, read_low), math.min(high, read_high) end
    local anew = not low or low > high
    if anew then low, high = read_low, read_high end
    -- Bounds that hardly changed are not written, because most polls find nothing and must cost little.
    if anew or width - (high - low) >= CLOSER_MS then
      redis.call('HSET', facts, 'low', string.format('%.1f', low), 'high', string.format('%.1f', high),
        'at', string.format('%d', now))
    end
  end
  return low and (low + high) / 2
end

local function delay_bucket(delay)
  if delay <= FIRST_DELAY_BUCKET_MAX_MS then return 0 end
  local index = math.ceil(math.log(delay / FIRST_DELAY_BUCKET_MAX_MS) / math.log(DELAY_BUCKET_WIDTH_RATIO))
  return math.min(index, LAST_DELAY_BUCKET_INDEX)
end

-- Records the delay of a new message. Returns the delay in ms, or nothing if it is unknown or longer than a day.
local function record_delay(slot, now, difference, stamp, shown)
  local delay, estimated = nil, false
  if stamp and difference then delay = now + difference - stamp end
  if shown and (not delay or delay < -AHEAD_MS) then delay, estimated = now - shown, true end
  if not delay or delay < -AHEAD_MS then return end
  if delay > LATE_MS then
    redis.call('HINCRBY', slot, 'late', 1)
  else
    redis.call('HINCRBY', slot, string.format('%d', delay_bucket(delay)), 1)
    if estimated then redis.call('HINCRBY', slot, 'estimated', 1) end
  end
  redis.call('PEXPIRE', slot, DELAY_STATISTICS_SLOT_TTL_MS)
  if delay <= LATE_MS then return math.max(delay, 0) end
end

-- Records the report (`pollReportLuaArguments`) that starts at this argument. Returns the index after the report, and
-- the detection delays as texts in ms.
local function record_report(facts, slot, first)
  local now, from, date = now_ms(), tonumber(ARGV[first]), tonumber(ARGV[first + 1])
  local known = redis.call('HMGET', facts, 'low', 'high', 'at', 'min', 'max', 'failedSince')
  -- A commit of an earlier build leaves these fields, so that they stay until the next commit of this build.
  if known[6] then redis.call('HDEL', facts, 'failedSince', 'failedAt', 'failedContact', 'failures') end
  if known[4] ~= ARGV[first + 2] or known[5] ~= ARGV[first + 3] then
    redis.call('HSET', facts, 'min', ARGV[first + 2], 'max', ARGV[first + 3])
  end
  if ARGV[first + 4] ~= '0' then redis.call('HINCRBY', facts, 'skipped', ARGV[first + 4]) end
  local difference = clock_difference(facts, known, date, from, now)
  local at, delays = first + 6, {}
  for _ = 1, tonumber(ARGV[first + 5]) do
    local delay = record_delay(slot, now, difference, tonumber(ARGV[at]), tonumber(ARGV[at + 1]))
    if delay then delays[#delays + 1] = string.format('%.1f', delay) end
    at = at + 2
  end
  return at, delays
end
