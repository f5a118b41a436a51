--- Lists an endpoint's deliveries, newest first.
-- @key webhooks      Hash of the account's endpoints.
-- @arg base          Prefix of the account's keys.
-- @arg endpoint      The endpoint's id.
-- @arg status        Stored status of the deliveries, or '' for all.
-- @arg missed        'yes' for missed deliveries, 'no' for the others, or '' for both.
-- @arg before        Number before which the page begins, or ''.
-- @arg max_count     Maximum number of deliveries.
-- @arg max_examined  Maximum number of deliveries to examine if `missed` is given.
-- @reply             An array.
-- @field next        Number before which the next page begins, or ''.
-- @fields ids        Ids of the deliveries.
--- @include "includes/deliveries.lua"

local limit = tonumber(max_count)
local set = listed(endpoint, status ~= '' and status or nil)
local max = missed == '' and limit or tonumber(max_examined)
local entries = redis.call('ZRANGE', set, before == '' and '+inf' or '(' .. before, '-inf', 'BYSCORE', 'REV',
  'LIMIT', 0, max + 1, 'WITHSCORES')
local reply, last = {''}, math.min(#entries, 2 * max)
for i = 1, last, 2 do
  if missed == '' or (redis.call('HGET', delivery(entries[i]), 'lost') == '1') == (missed == 'yes') then
    reply[#reply + 1] = entries[i]
  end
  if #reply > limit or i + 1 == last then
    if i + 2 <= #entries then reply[1] = entries[i + 1] end
    break
  end
end
return reply
