--- Adds counts to the minutes of an account, and removes the minutes that are too old.
-- The numbers of a minute are packed as a list. Numbers that this build does not know stay as they are.
-- @key stats         Hash from a minute, in minutes since 1970, to its packed numbers.
-- @args counts       For each count: minute, position in the list from 1, `sum` or `max`, and a number.
-- @constant MAX_AGE  Number of minutes before the current one that are kept.
-- @reply             Nothing.
--- @include "@platform/redis/lua/includes/now.lua"

local now = math.floor(now_ms() / 60000)

-- A minute may lie ahead by one, because the processes only estimate the clock of Redis.
local function is_kept(minute)
  local age = now - tonumber(minute)
  return age >= -1 and age <= MAX_AGE
end

local minutes = {}
for i = counts_from, #ARGV, 4 do
  local minute, position, kind, value = unpack(ARGV, i, i + 3)
  if is_kept(minute) then
    local packed = not minutes[minute] and redis.call('HGET', stats, minute)
    minutes[minute] = minutes[minute] or packed and cmsgpack.unpack(packed) or {}
    local numbers, at, number = minutes[minute], tonumber(position), tonumber(value)
    for gap = #numbers + 1, at do numbers[gap] = 0 end
    numbers[at] = kind == 'max' and math.max(numbers[at], number) or numbers[at] + number
  end
end

if not next(minutes) then return end
local grown = 0
for minute, numbers in pairs(minutes) do
  grown = grown + redis.call('HSET', stats, minute, cmsgpack.pack(numbers))
end
redis.call('PEXPIRE', stats, (MAX_AGE + 2) * 60000)
if grown == 0 then return end
for _, minute in ipairs(redis.call('HKEYS', stats)) do
  if not is_kept(minute) then redis.call('HDEL', stats, minute) end
end
