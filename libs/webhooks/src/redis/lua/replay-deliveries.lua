--- Replays events to endpoints. If the backlog is full, a delivery stays unchanged.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg scope        Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
-- @arg event_count  Number of events.
-- @args entries     For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of its
--                   event from 0.
-- @reply            Number of deliveries that became pending, or due now.
--- @include "includes/creation.lua"

local events, made = tonumber(event_count), 0
for i = entries_from + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], entries_from + (tonumber(ARGV[i + 2]) * 4)
  if endpoint_of(endpoint).state == 'enabled' then
    local status, missed = unpack(redis.call('HMGET', delivery(id), 'status', 'missed'))
    local has_room = status ~= 'pending' and pending_of(endpoint) < MAX_PENDING
    if not status then
      if has_room and (scope == 'all' or (scope == 'missed' and is_in_gap(gaps(endpoint), ARGV[event + 3]))) then
        create(endpoint, id, event)
        made = made + 1
      end
    elseif status == 'pending' then
      if scope == 'pending' and expedite(endpoint, id) then
        redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
        made = made + 1
      end
    elseif has_room and (scope == 'all' or (status == 'failed' and (scope == 'failed' or missed == '1'))) then
      restart(endpoint, id, status)
      made = made + 1
    end
  end
end
write_pending()
return made
