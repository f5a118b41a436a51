--- Ends the pending deliveries of a removed endpoint, and the waiting deliveries of a disabled endpoint.
-- Attempts under way to a disabled endpoint are completed.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @arg endpoint    The endpoint's id.
-- @arg max_count   Maximum number of deliveries.
-- @reply           Number of ended deliveries.
--- @include "includes/deliveries.lua"

local max = tonumber(max_count)
local _, record = endpoint_record(endpoint)
local reason = 'The webhook was removed.'
if record then
  if record.enabled then return 0 end
  reason = 'The webhook is disabled.'
  if type(record.disabledReason) == 'string' then reason = reason .. ' ' .. record.disabledReason end
  return_expired(endpoint)
end
local ended = 0
local function end_all(set)
  while ended < max do
    local ids = redis.call('ZRANGE', set, 0, max - ended - 1)
    if #ids == 0 then return end
    for _, id in ipairs(ids) do
      redis.call('ZREM', set, id)
      finish(endpoint, id, 'failed', reason)
    end
    ended = ended + #ids
  end
end
if record then
  end_all(due(endpoint))
  miss_behind(endpoint)
  update_agenda(endpoint, math.huge, record)
  -- If this process stops before it has ended the remaining deliveries, a worker continues at once.
  if ended == max then redis.call('ZADD', AGENDA, 0, endpoint) end
else
  -- Deliveries under way end first: while one is under way, its lane does not advance.
  end_all(inflight(endpoint))
  end_all(due(endpoint))
  if ended < max then
    redis.call('UNLINK', gaps(endpoint), pace(endpoint), older_pace(endpoint), backlog(endpoint), lanes(endpoint),
      turns(endpoint), listed(endpoint), listed(endpoint, 'pending'), listed(endpoint, 'succeeded'),
      listed(endpoint, 'failed'))
    redis.call('ZREM', AGENDA, endpoint)
    leave_older_agenda(endpoint)
  end
end
return ended
