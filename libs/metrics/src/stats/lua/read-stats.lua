--- Returns the counts of an account by minute.
-- @key stats       Hash from a minute, in minutes since 1970, to its packed numbers.
-- @reply           An array.
-- @field now       The time in ms.
-- @fields minutes  For each minute: the minute, followed by its numbers.
--- @include "@platform/redis/lua/includes/now.lua"

local reply = {whole(now_ms())}
local stored = redis.call('HGETALL', stats)
for i = 1, #stored, 2 do
  local numbers = cmsgpack.unpack(stored[i + 1])
  table.insert(numbers, 1, tonumber(stored[i]))
  reply[#reply + 1] = numbers
end
return reply
