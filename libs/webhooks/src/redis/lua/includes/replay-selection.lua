--- Decides what a replay does with an event. A replay and the count of a replay share these rules.
-- @uses scope  Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
--- @include "creation.lua"

-- Returns what a replay does with the delivery of an event at this position: 'create', 'restart' or 'expedite'; 'full'
-- if the backlog has no room for the delivery; or nil for nothing. Also returns the delivery's status. Changes nothing.
local function replay_action(endpoint, id, position)
  if endpoint_of(endpoint).state ~= 'enabled' then return nil end
  local status, missed = unpack(redis.call('HMGET', delivery(id), 'status', 'missed'))
  if status == 'pending' then
    return scope == 'pending' and is_waiting(endpoint, id) and 'expedite' or nil, status
  end
  local is_failed, is_missed = false, false
  if status then
    is_failed, is_missed = status == 'failed', status == 'failed' and missed == '1'
  elseif scope == 'missed' then
    is_missed = is_in_gap(gaps(endpoint), position)
  end
  local is_selected = scope == 'all' or (scope == 'failed' and is_failed) or (scope == 'missed' and is_missed)
  if not is_selected or (not status and waits_in_order(endpoint, position)) then return nil, status end
  if pending_of(endpoint) >= MAX_PENDING then return 'full', status end
  return status and 'restart' or 'create', status
end
