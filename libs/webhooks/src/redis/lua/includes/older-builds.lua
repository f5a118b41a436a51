--- Keeps older builds, which may run beside this one, from claiming deliveries that have no body of their own.
-- Older builds would post an empty body.
-- An older build reads an endpoint's pace from the hash `pace`, and schedules on its agenda `webhooks:due` when the
-- endpoint needs attention. This build uses keys of its own for both: what an older build writes there does no harm.
-- This build writes into `pace` that the endpoint has less than no slot, and last slowed down in the far future.
-- Nothing that an older build does changes that, except enabling the endpoint again; each claim therefore writes it
-- again. All other state is shared: what an older build created or has under way is claimed, ordered and recorded as
-- usual.
--- @include "delivery-keys.lua"
--- @include "pace.lua"

local OLDER_AGENDA = base .. 'webhooks:due'
local function older_pace(endpoint) return base .. 'endpoint:' .. endpoint .. ':pace' end

local function keep_older_builds_off(endpoint)
  local older = older_pace(endpoint)
  if redis.call('HEXISTS', older, 'moved') == 1 then return end
  if redis.call('EXISTS', older) == 1 and redis.call('EXISTS', pace(endpoint)) == 0 then
    redis.call('RENAME', older, pace(endpoint))
  end
  redis.call('DEL', older)
  redis.call('HSET', older, 'moved', 1, 'slots', -1, 'slowedAt', '9000000000000000')
end

-- Removes an endpoint from the agenda of older builds. An older build puts an endpoint that it changed or removed
-- there with 0, and does not count the change: this function counts it.
local function leave_older_agenda(endpoint)
  local score = redis.call('ZSCORE', OLDER_AGENDA, endpoint)
  if not score then return end
  if tonumber(score) == 0 then redis.call('INCR', base .. 'webhooks:revision') end
  redis.call('ZREM', OLDER_AGENDA, endpoint)
end

-- Takes over the agenda that older builds, or processes before the upgrade, wrote.
local function adopt_older_agenda()
  local entries = redis.call('ZRANGE', OLDER_AGENDA, 0, 999, 'WITHSCORES')
  for i = 1, #entries, 2 do
    redis.call('ZADD', AGENDA, 'LT', entries[i + 1], entries[i])
    leave_older_agenda(entries[i])
  end
end
