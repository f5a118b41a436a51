--- Prevents older builds, which may run beside this one, from claiming deliveries without a stored body.
-- Older builds would post an empty body for these. An older build reads an endpoint's pace from the hash `pace`, and
-- uses the agenda `webhooks:due`. This build has its own keys for both, so that writes of older builds do no harm.
-- Into `pace` it writes a negative number of slots and a last slowdown in the far future, so that older builds never
-- get a slot. Only enabling the endpoint resets these values, so each claim writes them again. All other state is
-- shared: deliveries that an older build created or has under way are claimed, ordered and recorded as usual.
--- @include "delivery-keys.lua"
--- @include "pace.lua"
--- @include "revision.lua"

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

-- Removes an endpoint from the agenda of older builds. An older build adds an endpoint that it changed or removed
-- with the score 0, and does not count the change; this function counts it.
local function leave_older_agenda(endpoint)
  local score = redis.call('ZSCORE', OLDER_AGENDA, endpoint)
  if not score then return end
  if tonumber(score) == 0 then change_revision(base .. 'webhooks:revision') end
  redis.call('ZREM', OLDER_AGENDA, endpoint)
end

-- Moves the entries of the older builds' agenda to this build's agenda.
local function adopt_older_agenda()
  local entries = redis.call('ZRANGE', OLDER_AGENDA, 0, 999, 'WITHSCORES')
  for i = 1, #entries, 2 do
    redis.call('ZADD', AGENDA, 'LT', entries[i + 1], entries[i])
    leave_older_agenda(entries[i])
  end
end
