--- Detects that Redis' clock was set back, and brings forward the times of work that would otherwise be due too late.
-- The clock may have been corrected, or Redis may now run on a machine whose clock is behind.
--- @include "now.lua"

-- Steps below this time, in ms, are ignored. The latest known time is stored at most once in this time.
local MIN_CLOCK_STEP_MS = 10000

-- Returns by how many ms the clock was set back since the last call, or 0. `latest_time` is the key of the latest known
-- time.
local function set_back_by(latest_time, now)
  local latest = tonumber(redis.call('GET', latest_time) or now)
  if latest == now or math.abs(latest - now) >= MIN_CLOCK_STEP_MS then
    -- A full Redis refuses the write. A later call stores the time, and then reports the step.
    if redis.pcall('SET', latest_time, whole(now)).err then return 0 end
  end
  return latest - now >= MIN_CLOCK_STEP_MS and latest - now or 0
end

-- Brings forward by this many ms all members of a sorted set that are due later than now.
local function bring_forward(set, ms, now)
  local later = redis.call('ZRANGE', set, '(' .. whole(now), '+inf', 'BYSCORE', 'WITHSCORES')
  for i = 1, #later, 2 do redis.call('ZADD', set, 'XX', whole(math.max(later[i + 1] - ms, now)), later[i]) end
end
