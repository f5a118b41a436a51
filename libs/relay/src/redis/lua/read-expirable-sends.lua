--- Reads the sends that may have expired: by their expiry time, or by their time in a lane.
-- @key expiring     Sorted set of sends by when they expire.
-- @key lanes_since  Sorted set of sends by when they joined their lane, in ms.
-- @arg max_age      Maximum time of a send in a lane, in ms.
-- @arg max_count    Maximum number of each.
-- @arg send_prefix  Prefix of the keys of sends, in the slot of the keys.
-- @reply            An array.
-- @field now        The time in ms.
-- @field sends      Arrays of id, order, state and revision; the last three are '' if the send is gone.
--- @include "@platform/redis/lua/includes/now.lua"

local now, sends, met = now_ms(), {}, {}
local function add(set, until_ms)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', whole(until_ms), 'LIMIT', 0, max_count)) do
    if not met[id] then
      met[id] = true
      local record = redis.call('HMGET', send_prefix .. id, 'order', 'state', 'revision')
      sends[#sends + 1] = {id, record[1] or '', record[2] or '', record[3] or ''}
    end
  end
end
add(expiring, now)
add(lanes_since, now - max_age)
return {whole(now), sends}
