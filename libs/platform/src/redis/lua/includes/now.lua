--- Returns the time by Redis' clock, and formats integers.

local time_of_script
-- Returns the time of the first call in this run of the script, in milliseconds since 1970.
local function now_ms()
  if not time_of_script then
    local time = redis.call('TIME')
    time_of_script = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return time_of_script
end

-- Returns a number as text without fraction or exponent. Redis would format a large number as 1e+15.
local function whole(number) return string.format('%d', number) end
