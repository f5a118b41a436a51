--- Records which events an endpoint missed.
-- The gaps are a list of ranges of the log, `from to` (both inclusive), the newest last: the events that the endpoint
-- missed while it was disabled or before it existed. A range that may still grow is marked `open`. A range above the
-- limit of the backlog is marked `behind`. Beyond a hundred ranges, the two oldest are merged: a replay may then
-- repeat deliveries of events between them, but misses none.
--
-- The deliveries that were pending when the endpoint was disabled also widen the `open` range, because retention may
-- remove their records before the events. If retention has also removed the record of a delivered event between them,
-- a replay may deliver this event again.

local MAX_GAPS = 100

local function is_after(position, other)
  local ms, n = string.match(position, '^(%d+)-(%d+)$')
  local other_ms, other_n = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(n) > tonumber(other_n) end
  return tonumber(ms) > tonumber(other_ms)
end

local function push_gap(gaps, gap)
  if redis.call('RPUSH', gaps, gap) > MAX_GAPS then
    local from, to = string.match(redis.call('LPOP', gaps), '^(%S+) (%S+)')
    local next_from, next_to, mark = string.match(redis.call('LINDEX', gaps, 0), '^(%S+) (%S+)(.*)$')
    -- A gap that grew backwards may overlap with the one before it.
    if is_after(from, next_from) then from = next_from end
    if is_after(next_to, to) then to = next_to end
    redis.call('LSET', gaps, 0, from .. ' ' .. to .. mark)
  end
end

-- Adds an event to the newest gap of a disabled endpoint. The events for which the backlog had no room are in the same
-- gap.
local function widen_gap(gaps, position)
  local from, to, mark = string.match(redis.call('LINDEX', gaps, -1) or '', '^(%S+) (%S+) (%l+)$')
  if not from then return push_gap(gaps, position .. ' ' .. position .. ' open') end
  local is_wider = false
  if is_after(position, to) then to, is_wider = position, true end
  if is_after(from, position) then from, is_wider = position, true end
  if is_wider or mark ~= 'open' then redis.call('LSET', gaps, -1, from .. ' ' .. to .. ' open') end
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
