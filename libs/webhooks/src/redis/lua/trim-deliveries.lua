--- Removes finished deliveries that are too old or too many.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @arg max_age     Maximum age of finished deliveries, in ms.
-- @arg max_kept    Maximum number of finished deliveries.
-- @arg max_count   Maximum number of deliveries to remove.
-- @reply           Number of deliveries removed.
--- @include "includes/deliveries.lua"

local oldest, excess = NOW - tonumber(max_age), redis.call('ZCARD', FINISHED) - tonumber(max_kept)
local entries = redis.call('ZRANGE', FINISHED, 0, tonumber(max_count) - 1, 'WITHSCORES')
local removed = 0
for i = 1, #entries, 2 do
  if removed >= excess and tonumber(entries[i + 1]) >= oldest then break end
  local stored = redis.call('HMGET', delivery(entries[i]), 'endpoint', 'status')
  if stored[1] then
    redis.call('ZREM', listed(stored[1]), entries[i])
    redis.call('ZREM', listed(stored[1], stored[2]), entries[i])
  end
  redis.call('DEL', delivery(entries[i]))
  redis.call('ZREM', FINISHED, entries[i])
  removed = removed + 1
end
return removed
