--- Decides what a replay does with an event. A replay and the count of a replay share these rules.
-- @uses scope  Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
--- @include "creation.lua"

-- Returns what a replay does with the delivery of an event at this position: 'create', 'restart' or 'expedite', or nil
-- for nothing. If the backlog is full, nothing becomes pending. Also returns the delivery's status. Changes nothing.
local function replay_action(endpoint, id, position)
  if endpoint_of(endpoint).state ~= 'enabled' then return nil end
  local status, missed = unpack(redis.call('HMGET', delivery(id), 'status', 'missed'))
  if status == 'pending' then
    return scope == 'pending' and is_waiting(endpoint, id) and 'expedite' or nil, status
  end
  if pending_of(endpoint) >= MAX_PENDING then return nil, status end
  local is_failed, is_missed = false, false
  if status then
    is_failed, is_missed = status == 'failed', status == 'failed' and missed == '1'
  elseif scope == 'missed' then
    is_missed = is_in_gap(gaps(endpoint), position)
  end
  local is_selected = scope == 'all' or (scope == 'failed' and is_failed) or (scope == 'missed' and is_missed)
  return is_selected and (status and 'restart' or 'create') or nil, status
end
