--- Records which events an endpoint missed.
-- The gaps are a list of stretches of the log, `from to`, both ends included, the newest last: what the endpoint
-- missed while it was disabled or before it existed. A stretch that may still grow ends in `open`. A stretch above
-- the bound of the backlog ends in `behind`. Of more than a hundred stretches the two oldest become one: a replay may
-- then emit again what was delivered between them, and still misses nothing.

local MOST_GAPS = 100

local function is_after(position, other)
  local ms, n = string.match(position, '^(%d+)-(%d+)$')
  local other_ms, other_n = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(n) > tonumber(other_n) end
  return tonumber(ms) > tonumber(other_ms)
end

local function push_gap(gaps, gap)
  if redis.call('RPUSH', gaps, gap) > MOST_GAPS then
    local oldest = string.match(redis.call('LPOP', gaps), '^%S+')
    redis.call('LSET', gaps, 0, oldest .. string.match(redis.call('LINDEX', gaps, 0), '^%S+(.*)$'))
  end
end

local function widen_gap(gaps, position)
  local from, to = string.match(redis.call('LINDEX', gaps, -1) or '', '^(%S+) (%S+) open$')
  if from then
    if is_after(position, to) then redis.call('LSET', gaps, -1, from .. ' ' .. position .. ' open') end
    return
  end
  push_gap(gaps, position .. ' ' .. position .. ' open')
end

local function widen_behind(gaps, position)
  local from, to = string.match(redis.call('LINDEX', gaps, -1) or '', '^(%S+) (%S+) behind$')
  if not from then push_gap(gaps, position .. ' ' .. position .. ' behind')
  elseif is_after(position, to) then redis.call('LSET', gaps, -1, from .. ' ' .. position .. ' behind') end
end

local function close_gap(gaps)
  local stretch = string.match(redis.call('LINDEX', gaps, -1) or '', '^(.*) open$')
  if stretch then redis.call('LSET', gaps, -1, stretch) end
end

local function is_in_gap(gaps, position)
  for _, gap in ipairs(redis.call('LRANGE', gaps, 0, -1)) do
    local from, to = string.match(gap, '^(%S+) (%S+)')
    if not is_after(from, position) and not is_after(position, to) then return true end
  end
  return false
end
