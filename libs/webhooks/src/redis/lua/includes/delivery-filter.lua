--- Selects deliveries of a list.
-- @uses missed  'yes' for missed deliveries, 'no' for the others, or '' for both.
-- @uses since   Time in ms since which a delivery was finished, or created if it is pending; or ''.
--- @include "delivery-keys.lua"

local is_filtered = missed ~= '' or since ~= ''

local function matches(id)
  if not is_filtered then return true end
  local lost, finished, created = unpack(redis.call('HMGET', delivery(id), 'lost', 'finishedAt', 'createdAt'))
  if missed ~= '' and (lost == '1') ~= (missed == 'yes') then return false end
  return since == '' or tonumber(finished or created or 0) >= tonumber(since)
end
