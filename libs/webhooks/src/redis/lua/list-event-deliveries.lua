--- Lists the deliveries of one event, newest first. They are found by their ids, one for each endpoint.
-- @key webhooks      Hash of the account's endpoints.
-- @arg base          Prefix of the account's keys.
-- @arg status        Stored status of the deliveries, or '' for all.
-- @arg missed        'yes' for missed deliveries, 'no' for the others, or '' for both.
-- @arg since         Time in ms since which a delivery was finished, or created if it is pending; or ''.
-- @arg before        Number before which the page begins, or ''.
-- @arg max_count     Maximum number of deliveries.
-- @args entries      For each endpoint: its id, and the id of its delivery of the event.
-- @reply             An array.
-- @field next        Number before which the next page begins, or ''.
-- @fields ids        Ids of the deliveries.
--- @include "includes/delivery-filter.lua"

local limit, first = tonumber(max_count), before ~= '' and tonumber(before) or math.huge
local found = {}
for i = entries_from, #ARGV, 2 do
  local endpoint, id = ARGV[i], ARGV[i + 1]
  local number = redis.call('ZSCORE', listed(endpoint, status ~= '' and status or nil), id)
  if number and tonumber(number) < first and matches(id) then
    found[#found + 1] = {id = id, number = number}
  end
end
table.sort(found, function(one, other) return tonumber(one.number) > tonumber(other.number) end)

local reply = {#found > limit and found[limit].number or ''}
for i = 1, math.min(limit, #found) do reply[i + 1] = found[i].id end
return reply
