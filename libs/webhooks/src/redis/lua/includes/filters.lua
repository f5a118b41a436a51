--- Limits the total size of an account's filters.
-- `filters` is a hash from an endpoint's id to the size of its filter in bytes. It does not contain endpoints that an
-- older build stored: for these, the size of the whole record counts, minus the minimum size of a record.

local RECORD_BYTES = 1024

-- Records the size of an endpoint's filter. Records nothing and returns false if the total size would exceed the
-- maximum.
local function keep_filters(webhooks, filters, id, bytes, max_bytes)
  local others = 0
  for _, other in ipairs(redis.call('HKEYS', webhooks)) do
    if other ~= id then
      local known = redis.call('HGET', filters, other)
      others = others + (known or math.max(redis.call('HSTRLEN', webhooks, other) - RECORD_BYTES, 0))
    end
  end
  if others + bytes > tonumber(max_bytes) then return false end
  redis.call('HSET', filters, id, bytes)
  return true
end
