--- Returns the time by Redis' clock, and formats integers.

-- Returns the time in milliseconds since 1970.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Returns a number as text without fraction or exponent. Redis would format a large number as 1e+15.
local function whole(number) return string.format('%d', number) end
