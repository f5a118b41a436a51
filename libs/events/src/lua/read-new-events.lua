--- Reads events as the only reader of the log: first the events that were not acknowledged, then new ones.
-- If the consumer group is missing, it is created again at the dispatched mark in the same step. A log that does
-- not exist is not created, because the account may have been removed.
-- @key log           Stream of the account's events.
-- @key log_counters  Hash of the log's counters.
-- @key lease         Token of the current reader.
-- @arg group         Name of the consumer group.
-- @arg token         Token of this reader.
-- @arg lease_ms      Duration of the lease in ms.
-- @arg max_count     Maximum number of entries.
-- @reply             An array.
-- @field wait_ms     0, or the time for which another reader holds the lease in ms; then no other field is set.
-- @field restarted   Position at which a lost group was created again, or ''.
-- @field entries     Entries of the stream: fewer than the maximum if they are large, but at least one if any is left.
--- @include "includes/entry-bytes.lua"

local holder = redis.call('GET', lease)
if holder and holder ~= token then return {math.max(redis.call('PTTL', lease), 1)} end
redis.call('SET', lease, token, 'PX', lease_ms)

if redis.call('EXISTS', log) == 0 then return {0, '', {}} end
local last, restarted = nil, ''
for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
  local fields = {}
  for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
  if fields['name'] == group then last = fields['last-delivered-id'] end
end
if not last then
  local mark = redis.call('HGET', log_counters, 'dispatched')
  last, restarted = mark or '0-0', mark or ''
  redis.call('XGROUP', 'CREATE', log, group, last)
end

-- Size of the entries, in bytes, above which no more are read, because Redis runs nothing else meanwhile.
local MAX_BYTES = 2000000
-- Number of entries that one command reads. Any entry may be large, even after small ones.
local STEP = 20

local entries, bytes, room = {}, 0, tonumber(max_count)
-- Calls `read` with a number of entries until the maximum is reached. `read` returns a list, and true if the list is
-- the last one.
local function collect(read)
  local is_last = false
  while not is_last and #entries < room and bytes <= MAX_BYTES do
    local found
    found, is_last = read(math.min(STEP, room - #entries))
    for _, entry in ipairs(found) do
      entries[#entries + 1] = entry
      bytes = bytes + entry_bytes(entry)
    end
  end
end

local cursor = '0-0'
collect(function(count)
  local found = redis.call('XAUTOCLAIM', log, group, 'reader', 0, cursor, 'COUNT', count)
  cursor = found[1]
  return found[2], cursor == '0-0'
end)
if #entries == 0 then
  collect(function(count)
    local new = redis.call('XREADGROUP', 'GROUP', group, 'reader', 'COUNT', count, 'STREAMS', log, '>')
    local found = new and new[1][2] or {}
    return found, #found < count
  end)
end
return {0, restarted, entries}
