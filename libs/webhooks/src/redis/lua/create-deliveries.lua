--- Creates deliveries of events.
-- An event for a disabled endpoint, or above the limit of the backlog, extends the endpoint's gap instead. Exception:
-- the lower limit of failing endpoints does not apply to a test event for an unordered endpoint, because a caller waits
-- for this event.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg lease        Key of the reader's lease, in the same hash slot, or '' without a reader.
-- @arg token        Token of the reader.
-- @arg lease_ms     Duration of the lease in ms.
-- @arg event_count  Number of events.
-- @args entries     For each event: id, type, contact, position. Then for each delivery: id, endpoint, index of its
--                   event from 0.
-- @reply            1, or 0 if the reader has lost its lease.
--- @include "includes/creation.lua"

if lease ~= '' and not renew_reader_lease(lease, token, lease_ms) then return 0 end
local events = tonumber(event_count)

-- Reads, once per endpoint, whether new events extend its gap. Closes the gap that was open while the endpoint was
-- disabled.
local function prepare(endpoint, it)
  if it.max then return end
  keep_older_builds_off(endpoint)
  close_gap(gaps(endpoint))
  it.is_behind, it.max = behind(endpoint) ~= nil, max_pending(endpoint)
end
local function has_room(endpoint, it, type)
  if type == 'webhook.test' and not it.ordered then return pending_of(endpoint) < MAX_PENDING end
  return not it.is_behind and pending_of(endpoint) < it.max
end
for i = entries_from + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], entries_from + (tonumber(ARGV[i + 2]) * 4)
  local it = endpoint_of(endpoint)
  if it.state ~= 'removed' and redis.call('EXISTS', delivery(id)) == 0 then
    if it.state == 'disabled' then
      widen_gap(gaps(endpoint), ARGV[event + 3])
    else
      prepare(endpoint, it)
      if has_room(endpoint, it, ARGV[event + 1]) then
        create(endpoint, id, event)
      else
        widen_behind(gaps(endpoint), ARGV[event + 3])
        it.is_behind, it.is_left_behind = true, true
      end
    end
  end
end
write_pending()
for endpoint, it in pairs(known) do
  local at = it.is_left_behind and refill_from(endpoint)
  if at then redis.call('ZADD', AGENDA, 'LT', whole(at), endpoint) end
end
return 1
