--- Reads the sends that may have expired: by their expiry time, or by their time in a lane.
-- Leaves out the sends of an earlier Redis run, because Redis may have lost the record of their POST.
-- @key expiring     Sorted set of sends by when they expire.
-- @key lanes_since  Sorted set of sends by when they joined their lane, in ms.
-- @arg max_age      Maximum time of a send in a lane, in ms.
-- @arg max_count    Maximum number of sends of each kind.
-- @arg send_prefix  Prefix of the keys of sends, in the slot of the keys.
-- @reply            An array.
-- @field now        The time in ms.
-- @field sends      Arrays of id, order, state and revision; the last three are '' if the send was removed.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"

-- Maximum number of batches of `max_count` ids that are read from each set. One batch may not be enough, because all
-- its sends may be of an earlier run.
local MAX_BATCHES = 4

local now, sends, met = now_ms(), {}, {}
local wanted = tonumber(max_count)
local function add(set, until_ms)
  local found = 0
  for batch = 0, MAX_BATCHES - 1 do
    local ids = redis.call('ZRANGEBYSCORE', set, '-inf', whole(until_ms), 'LIMIT', batch * wanted, wanted)
    for _, id in ipairs(ids) do
      if found == wanted then return end
      local run = redis.call('HGET', send_prefix .. id, 'life')
      if not met[id] and (not run or run == redis_run()) then
        met[id], found = true, found + 1
        local record = redis.call('HMGET', send_prefix .. id, 'order', 'state', 'revision')
        sends[#sends + 1] = {id, record[1] or '', record[2] or '', record[3] or ''}
      end
    end
    if #ids < wanted then return end
  end
end
add(expiring, now)
add(lanes_since, now - max_age)
return {whole(now), sends}
