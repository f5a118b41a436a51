--- Claims due deliveries of an endpoint.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg endpoint       The endpoint's id.
-- @arg default_slots  Maximum number of requests in flight for an endpoint without its own limit.
-- @arg max_count      Maximum number of deliveries.
-- @arg lease_ms       Duration of the lease in ms.
-- @arg claim          Id of the claim.
-- @arg known_after    Start of the period whose events the caller has cached, exclusive, in ms.
-- @arg known_until    End of this period, inclusive, in ms. The reply leaves out the log's entries of these events.
-- @reply              An array, or nil if the endpoint is removed or disabled.
-- @field stored       The endpoint as it is stored.
-- @field more         1 if more deliveries could be claimed, else 0.
-- @field wait_ms      Time until the endpoint's pace allows the remaining due deliveries in ms, or 0.
-- @field can_refill   1 if more deliveries may become pending, else 0.
-- @field missed       Number of deliveries that ended as missed, because the log no longer holds their events.
-- @fields deliveries  For each delivery: id, event, number of attempts since it last became pending, the body that
--                     an older build stored or '', and the log's entry of the event or ''.
--- @include "includes/deliveries.lua"
--- @include "@events/lua/includes/entry-bytes.lua"
--- @include "@events/lua/includes/logged-event.lua"

-- Size of the log's entries, in bytes, above which no further delivery is claimed, so that Redis is not blocked for
-- long.
local MAX_BYTES = 2000000
-- Maximum number of deliveries under way, newest first, that a repeated claim examines to find its own. A delivery that
-- it does not find waits until its lease ends.
local MAX_UNDER_WAY_EXAMINED = 100

local default, room, lease = tonumber(default_slots), tonumber(max_count), tonumber(lease_ms)
local after, until_ms = tonumber(known_after), tonumber(known_until)
-- Returns '' in place of the entry of an event that the caller has.
local function entry_of(event, position)
  local ms = position and tonumber(string.match(position, '^%d+'))
  if ms and ms > after and ms <= until_ms then return '' end
  return logged_event(base .. 'events', position, event)
end

local stored, record = endpoint_record(endpoint)
if not record or not record.enabled then return nil end
keep_older_builds_off(endpoint)
return_expired(endpoint)
-- If the reply of this claim was lost with the connection, the client sends the claim again. The deliveries of the
-- lost reply are then made due again; otherwise they would wait until their leases end. Other processes may have
-- claimed further deliveries meanwhile.
for _, id in ipairs(redis.call('ZRANGE', inflight(endpoint), -MAX_UNDER_WAY_EXAMINED, -1)) do
  if redis.call('HGET', delivery(id), 'claim') == claim then end_claim(endpoint, id, NOW) end
end
local _, slots = slots_of(endpoint, record, default)
local free = slots - redis.call('ZCARD', inflight(endpoint))
local tokens, filled_at = tokens_of(endpoint, record)
local count, claimed, reply = math.min(free, room, math.floor(tokens)), 0, {stored, 0, 0, 0, 0}
if count > 0 and open_from(endpoint, record) <= NOW then
  local ids = redis.call('ZRANGEBYSCORE', due(endpoint), '-inf', whole(NOW), 'LIMIT', 0, whole(count))
  -- A full Redis accepts all writes of a script whose first write is a removal. The first due delivery is always
  -- removed from the set, so this removal can come first.
  if ids[1] then redis.call('ZREM', due(endpoint), ids[1]) end
  local ends_at, leases, taken, bytes = whole(NOW + lease), {}, {}, 0
  for i, id in ipairs(ids) do
    if bytes > MAX_BYTES then break end
    taken[i] = id
    local key = delivery(id)
    local status, event, attempts, body, earlier, position =
      unpack(redis.call('HMGET', key, 'status', 'event', 'attempts', 'body', 'earlier', 'position'))
    if status == 'pending' then
      local entry = not body and entry_of(event, position)
      if body or entry then
        leases[2 * claimed + 1], leases[2 * claimed + 2] = ends_at, id
        redis.call('HSET', key, 'claim', claim)
        local at = #reply
        reply[at + 1], reply[at + 2], reply[at + 3] = id, event, tonumber(attempts) - tonumber(earlier or 0)
        reply[at + 4], reply[at + 5] = body or '', entry or ''
        bytes = bytes + (entry and entry ~= '' and entry_bytes(entry) or 0)
        claimed = claimed + 1
      else
        miss(endpoint, id)
        reply[5] = reply[5] + 1
      end
    end
  end
  zrem(due(endpoint), taken)
  zadd(inflight(endpoint), leases)
  spend(endpoint, tokens, filled_at, claimed)
end
if claimed < free and redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 then
  local wait = open_from(endpoint, record) - NOW
  if wait > 0 then reply[3] = wait else reply[2] = 1 end
end
update_agenda(endpoint, default, record)
if can_refill(endpoint) then reply[4] = 1 end
return reply
