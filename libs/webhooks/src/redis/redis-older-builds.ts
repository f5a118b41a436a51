/**
 * Keeps older builds, which may run beside this one, from claiming deliveries that have no body of their own: they would
 * post an empty one. An older build reads an endpoint's pace from the hash `pace` and puts on its agenda `webhooks:due`
 * when to look again; this build uses keys of its own for both, so that what the older one writes there can do no harm.
 * In `pace` stands from then on that the endpoint has less than no slot, last slowed down in the far future: nothing that
 * an older build does changes that, but for enabling the endpoint again, so that it is looked after with each claim.
 * All other state is shared: what an older build made or has under way is claimed, ordered and recorded as ever.
 */
export const OLDER_BUILDS = `
local OLDER_AGENDA = BASE .. 'webhooks:due'
local function older_pace(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':pace' end

local function keep_older_builds_off(endpoint)
  local older = older_pace(endpoint)
  if redis.call('HEXISTS', older, 'moved') == 1 then return end
  if redis.call('EXISTS', older) == 1 and redis.call('EXISTS', pace(endpoint)) == 0 then
    redis.call('RENAME', older, pace(endpoint))
  end
  redis.call('DEL', older)
  redis.call('HSET', older, 'moved', 1, 'slots', -1, 'slowedAt', '9000000000000000')
end

-- An older build puts an endpoint that it changed or removed there with 0, and counts no change: it is counted here.
local function leave_older_agenda(endpoint)
  local score = redis.call('ZSCORE', OLDER_AGENDA, endpoint)
  if not score then return end
  if tonumber(score) == 0 then redis.call('INCR', BASE .. 'webhooks:revision') end
  redis.call('ZREM', OLDER_AGENDA, endpoint)
end

-- Takes over when older builds, or processes before the upgrade, wanted endpoints to be looked at.
local function adopt_older_agenda()
  local entries = redis.call('ZRANGE', OLDER_AGENDA, 0, 999, 'WITHSCORES')
  for i = 1, #entries, 2 do
    redis.call('ZADD', AGENDA, 'LT', entries[i + 1], entries[i])
    leave_older_agenda(entries[i])
  end
end
`;
