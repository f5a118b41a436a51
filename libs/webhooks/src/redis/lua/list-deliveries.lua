--- Lists deliveries of one endpoint or of all endpoints, newest first.
-- @key webhooks      Hash of the account's endpoints.
-- @arg base          Prefix of the account's keys.
-- @arg endpoint      The endpoint's id, or '' for all endpoints.
-- @arg status        Stored status of the deliveries, or '' for all.
-- @arg missed        'yes' for missed deliveries, 'no' for the others, or '' for both.
-- @arg since         Time in ms since which a delivery was finished, or created if it is pending; or ''.
-- @arg before        Number before which the page begins, or ''.
-- @arg max_count     Maximum number of deliveries.
-- @arg max_examined  Maximum number of deliveries to examine if `missed` or `since` is given.
-- @constant BATCH    Number of deliveries that are read at once of each endpoint, if there are several endpoints.
-- @reply             An array.
-- @field next        Number before which the next page begins, or ''.
-- @fields ids        Ids of the deliveries.
--- @include "includes/delivery-filter.lua"

local limit = tonumber(max_count)
local max = is_filtered and tonumber(max_examined) or limit
local endpoints = endpoint ~= '' and {endpoint} or redis.call('HKEYS', webhooks)
local batch = #endpoints == 1 and max + 1 or BATCH

-- Each list is the deliveries of one endpoint, newest first. Deliveries are numbered over all endpoints of an account,
-- so the lists are merged by number: `lists` is sorted by the number of each list's next delivery, newest last.
local lists = {}

local function put_in_order(list)
  list.number = tonumber(list.entries[list.at + 1])
  local low, high = 1, #lists + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if lists[middle].number < list.number then low = middle + 1 else high = middle end
  end
  table.insert(lists, low, list)
end

local function read_on(list)
  list.entries = redis.call('ZRANGE', list.set, list.from, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, batch, 'WITHSCORES')
  list.at = 1
  if #list.entries == 0 then return end
  list.from = '(' .. list.entries[#list.entries]
  put_in_order(list)
end

for _, id in ipairs(endpoints) do
  read_on({set = listed(id, status ~= '' and status or nil), from = before == '' and '+inf' or '(' .. before})
end

local reply, examined, last = {''}, 0, ''
while #lists > 0 do
  if #reply > limit or examined == max then
    reply[1] = last
    break
  end
  local list = table.remove(lists)
  local id = list.entries[list.at]
  last, examined = list.entries[list.at + 1], examined + 1
  if matches(id) then reply[#reply + 1] = id end
  list.at = list.at + 2
  if list.at > #list.entries then read_on(list) else put_in_order(list) end
end
return reply
