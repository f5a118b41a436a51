--- Replays events to an endpoint.
-- Stops at the first event for which the backlog has no room. Later events must be left out even if there is room
-- again, because an ordered endpoint would get them before the event that was left out.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg scope        Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
-- @arg event_count  Number of events.
-- @args entries     For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of its
--                   event from 0.
-- @reply            An array.
-- @field count      Number of deliveries that became pending, or due now.
-- @field is_full    1 if the replay stopped because the backlog is full, else 0.
--- @include "includes/replay-selection.lua"

local events, made, is_full = tonumber(event_count), 0, 0
for i = entries_from + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], entries_from + (tonumber(ARGV[i + 2]) * 4)
  local action, status = replay_action(endpoint, id, ARGV[event + 3])
  if action == 'full' then
    is_full = 1
    break
  end
  if action == 'create' then create(endpoint, id, event)
  elseif action == 'restart' then restart(endpoint, id, status)
  elseif action == 'expedite' then
    expedite(endpoint, id)
    redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
  end
  if action then made = made + 1 end
end
write_pending()
return { made, is_full }
