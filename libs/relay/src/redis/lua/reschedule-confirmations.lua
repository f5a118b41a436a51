--- Postpones the next check for the message of each send, unless the send changed or its check is no longer due.
-- @key confirms      Sorted set of sends by when the next check for their message is due.
-- @arg send_prefix   Prefix of the keys of sends, in the same hash slot.
-- @args sends        For each send its id, the revision with which it was read, and the wait in ms.
-- @reply             Ids of the sends whose check was due and is now later.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()
local rescheduled = {}
for i = sends_from, #ARGV, 3 do
  local id, revision, wait = unpack(ARGV, i, i + 2)
  local due = redis.call('ZSCORE', confirms, id)
  if due and tonumber(due) <= now and redis.call('HGET', send_prefix .. id, 'revision') == revision then
    redis.call('ZADD', confirms, whole(now + wait), id)
    rescheduled[#rescheduled + 1] = id
  end
end
return rescheduled
