--- Finds out when an account's sends next need work.
-- The script also stores a new Redis run and when it was noticed. Otherwise, the run of an account without due sends
-- would be stored only when the next send is due. If Redis' clock was set back, the script first brings forward the
-- times of lanes, of checks for the messages of sends, and of the probe.
-- @key lanes_due    Sorted set of recipients by when their lane is due, in ms.
-- @key confirms     Sorted set of accepted sends by when the next check for their message is due, in ms.
-- @key scheduled    Sorted set of scheduled sends by their time.
-- @key finished     Sorted set of finished sends by when they finished.
-- @key all          Set of all sends.
-- @key expiring     Sorted set of sends by when they expire.
-- @key lanes_since  Sorted set of sends by when they joined their lane, in ms.
-- @key undecided    Sorted set of accepted and unknown sends by when they got that status.
-- @key known_run    Hash of the last known Redis run and its start.
-- @key upstream     Hash of the outage, if there is one.
-- @key latest_time  Latest known time in ms.
-- @arg kept_ms      Maximum age of finished sends, in ms.
-- @arg max_count    Maximum number of finished and undecided sends.
-- @arg max_age      Maximum time of a send in a lane, in ms.
-- @reply            An array of times from now in ms, each '' if there is no such work.
-- @field lanes      When the first lane is due.
-- @field confirms   When the first check for the message of a send is due.
-- @field scheduled  When the first scheduled send is due.
-- @field trim       When retention has something to remove.
-- @field expires    When the first send expires.
-- @field aged       When the first send reaches its maximum time in a lane.
-- @field has_sends  1 if the account has any send, else 0.
--- @include "includes/known-run.lua"
--- @include "@platform/redis/lua/includes/clock-steps.lua"

local now = now_ms()
local back = redis.call('EXISTS', lanes_due, confirms, upstream) > 0 and set_back_by(latest_time, now) or 0
if back > 0 then
  bring_forward(lanes_due, back, now)
  bring_forward(confirms, back, now)
  local probe_at = tonumber(redis.call('HGET', upstream, 'probeAt'))
  if probe_at and probe_at > now then redis.call('HSET', upstream, 'probeAt', whole(math.max(probe_at - back, now))) end
end
local function first_of(set, keep)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  return first and whole(math.max(first + keep - now, 0)) or ''
end
local kept = redis.call('ZCARD', finished) + redis.call('ZCARD', undecided)
local has_sends = redis.call('EXISTS', all)
if has_sends == 1 then run_since(known_run) end
local trim = kept > tonumber(max_count) and '0' or first_of(finished, kept_ms)
return {first_of(lanes_due, 0), first_of(confirms, 0), first_of(scheduled, 0), trim, first_of(expiring, 0),
  first_of(lanes_since, max_age), has_sends}
