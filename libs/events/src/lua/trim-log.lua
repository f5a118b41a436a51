--- Removes expired and excess events from the log, the oldest first, but no event after the dispatched mark.
-- @key log           Stream of the account's events.
-- @key log_index     Hash from an event's id to its position in the log.
-- @key log_counters  Hash of the log's counters.
-- @arg max_count     Maximum number of events.
-- @arg oldest        Time before which events are removed, in ms.
-- @arg max_examined  Number of removed events after which the script stops.
-- @reply             Number of events removed.
--- @include "includes/recorded-at.lua"

local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local mark_ms, mark_n = parts(redis.call('HGET', log_counters, 'dispatched') or '0-0')
local excess = redis.call('XLEN', log) - tonumber(max_count)
local removed, last, ids = 0, nil, {}

local function is_removable(entry)
  local ms, n = parts(entry[1])
  local dispatched = ms < mark_ms or (ms == mark_ms and n <= mark_n)
  return dispatched and (removed < excess or recorded_at(entry) < tonumber(oldest))
end

-- Number of entries that one command reads. Entries may be large.
local STEP = 20
local has_more = true
while has_more and removed < tonumber(max_examined) do
  local entries = redis.call('XRANGE', log, last and '(' .. last or '-', '+', 'COUNT', STEP)
  has_more = #entries == STEP
  for _, entry in ipairs(entries) do
    if not is_removable(entry) then
      has_more = false
      break
    end
    removed = removed + 1
    last = entry[1]
    ids[removed] = entry[2][2]
  end
end
if removed > 0 then
  for i = 1, removed, 1000 do
    redis.call('HDEL', log_index, unpack(ids, i, math.min(i + 999, removed)))
  end
  redis.call('XTRIM', log, 'MINID', last)
  redis.call('XDEL', log, last)
  redis.call('HSET', log_counters, 'trimmed', last)
end
return removed
