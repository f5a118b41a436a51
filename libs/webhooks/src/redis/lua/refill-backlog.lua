--- Creates deliveries for events that the backlog had no room for, and moves the start of their range.
-- Nothing happens if another process did this meanwhile.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg endpoint       The endpoint's id.
-- @arg expected       Expected first position of the range.
-- @arg next_position  First position of the range after all these deliveries.
-- @arg event_count    Number of events.
-- @args entries       For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of
--                     its event from 0.
-- @reply              1, or 0 if nothing happened.
--- @include "includes/creation.lua"

local events = tonumber(event_count)
local from, to = behind(endpoint)
local at, room = refill_from(endpoint)
if from ~= expected or not at or at > NOW or endpoint_of(endpoint).state ~= 'enabled' then return 0 end
local is_probe, made = pending_at(endpoint) >= max_pending(endpoint), 0
for i = entries_from + events * 4, #ARGV, 3 do
  local id, event = ARGV[i], entries_from + (tonumber(ARGV[i + 2]) * 4)
  if redis.call('EXISTS', delivery(id)) == 0 then
    if made >= room then
      next_position = ARGV[event + 3]
      break
    end
    create(endpoint, id, event)
    made = made + 1
  end
end
write_pending()
redis.call('HSET', backlog(endpoint), 'refilledAt', whole(NOW))
if is_probe and made > 0 then redis.call('HSET', backlog(endpoint), 'probedAt', whole(NOW)) end
if is_after(next_position, to) then redis.call('RPOP', gaps(endpoint))
else redis.call('LSET', gaps(endpoint), -1, next_position .. ' ' .. to .. ' behind') end
redis.call('ZADD', AGENDA, 'LT', NOW_TEXT, endpoint)
return 1
