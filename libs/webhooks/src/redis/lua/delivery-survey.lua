--- Reads the times at which the next tasks of an account's deliveries are due.
-- If Redis' clock was set back, the script first brings forward the stored times.
-- @key webhooks      Hash of the account's endpoints.
-- @key agenda        Sorted set of endpoints by when their next task is due, in ms.
-- @key finished      Sorted set of finished deliveries by when they finished, in ms.
-- @key older_agenda  Agenda of older builds: sorted set of endpoints by the time of their next check, in ms.
-- @key latest_time   Latest known time in ms.
-- @arg base          Prefix of the account's keys.
-- @arg max_age       Maximum age of finished deliveries, in ms.
-- @arg max_count     Maximum number of finished deliveries.
-- @reply             An array of times from now in ms, each '' if there is no such work.
-- @field overdue     When the next task of an endpoint is due.
-- @field trim        When retention has something to remove.
--- @include "includes/pace.lua"
--- @include "@platform/redis/lua/includes/clock-steps.lua"

local now = NOW
local back = redis.call('EXISTS', agenda, older_agenda) > 0 and set_back_by(latest_time, now) or 0

local function set_back(hash, ...)
  for _, field in ipairs({...}) do
    local time = tonumber(redis.call('HGET', hash, field))
    if time and time > now then redis.call('HSET', hash, field, whole(time - back)) end
  end
end
if back > 0 then
  for _, endpoint in ipairs(redis.call('HKEYS', webhooks)) do
    bring_forward(due(endpoint), back, now)
    bring_forward(inflight(endpoint), back, now)
    -- A delivery in a lane becomes due at the time in its hash.
    for _, id in ipairs(redis.call('ZRANGE', listed(endpoint, 'pending'), 0, -1)) do
      set_back(delivery(id), 'nextAttemptAt', 'notBefore')
    end
    set_back(pace(endpoint), 'heldUntil', 'failingSince', 'recovering')
    redis.call('HDEL', pace(endpoint), 'slowedAt')
    redis.call('HDEL', base .. 'endpoint:' .. endpoint .. ':backlog', 'refilledAt', 'probedAt')
  end
  bring_forward(agenda, back, now)
  bring_forward(older_agenda, back, now)
end
local function first_of(set, keep)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  return first and whole(math.max(first + keep - now, 0)) or ''
end
local trim = redis.call('ZCARD', finished) > tonumber(max_count) and '0' or first_of(finished, max_age)
local overdue, older = first_of(agenda, 0), first_of(older_agenda, 0)
if overdue == '' or (older ~= '' and tonumber(older) < tonumber(overdue)) then overdue = older end
return {overdue, trim}
