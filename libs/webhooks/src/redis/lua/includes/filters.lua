--- Bounds the size of all filters of an account.
-- `filters` is a hash from an endpoint to the number of bytes of its filter. An endpoint that an older build stored
-- is not in the hash: it counts with its whole record, less the bytes that such a record takes at least.

local RECORD_BYTES = 1024

-- Records the bytes of an endpoint's filter. Returns false, and records nothing, if all filters would exceed the
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
