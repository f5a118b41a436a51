--- Replays events to endpoints. If the backlog is full, a delivery stays unchanged.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg scope        Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
-- @arg event_count  Number of events.
-- @args entries     For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of its
--                   event from 0.
-- @reply            Number of deliveries that became pending, or due now.
--- @include "includes/replay-selection.lua"

local events, made = tonumber(event_count), 0
for i = entries_from + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], entries_from + (tonumber(ARGV[i + 2]) * 4)
  local action, status = replay_action(endpoint, id, ARGV[event + 3])
  if action == 'create' then create(endpoint, id, event)
  elseif action == 'restart' then restart(endpoint, id, status)
  elseif action == 'expedite' then
    expedite(endpoint, id)
    redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
  end
  if action then made = made + 1 end
end
write_pending()
return made
