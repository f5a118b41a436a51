--- Creates deliveries of events.
-- An event for a disabled endpoint, or above the limit of the backlog, extends the endpoint's gap instead. Exception:
-- a test event of an unordered endpoint ignores the lower limit of failing endpoints, because a caller waits for it.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg lease        Key of the reader's lease, in the slot of the keys, or '' without a reader.
-- @arg token        Token of the reader.
-- @arg lease_ms     Duration of the lease in ms.
-- @arg event_count  Number of events.
-- @args entries     For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of its
--                   event from 0.
-- @reply            1, or 0 if the reader has lost its lease.
--- @include "includes/creation.lua"

if lease ~= '' and not renew_reader_lease(lease, token, lease_ms) then return 0 end
local events, left_behind = tonumber(event_count), {}
local function has_room(endpoint, type)
  if type == 'webhook.test' and not endpoint_of(endpoint).ordered then return pending_at(endpoint) < MAX_PENDING end
  return not left_behind[endpoint] and not behind(endpoint) and pending_at(endpoint) < max_pending(endpoint)
end
for i = entries_from + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], entries_from + (tonumber(ARGV[i + 2]) * 4)
  local state = endpoint_of(endpoint).state
  if state ~= 'removed' and redis.call('EXISTS', delivery(id)) == 0 then
    if state == 'disabled' then
      widen_gap(gaps(endpoint), ARGV[event + 3])
    elseif has_room(endpoint, ARGV[event + 1]) then
      close_gap(gaps(endpoint))
      create(endpoint, id, event)
    else
      close_gap(gaps(endpoint))
      widen_behind(gaps(endpoint), ARGV[event + 3])
      left_behind[endpoint] = true
    end
  end
end
for endpoint in pairs(left_behind) do
  local at = refill_from(endpoint)
  if at then redis.call('ZADD', AGENDA, 'LT', whole(at), endpoint) end
end
return 1
