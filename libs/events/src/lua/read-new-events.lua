--- Reads events as the only reader of the log: first the events that were not acknowledged, then new ones.
-- If the consumer group is missing, it is created again at the dispatched mark in the same step.
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
-- @field entries     Entries of the stream. If they are large, fewer than the maximum, but not none.
--- @include "includes/entry-bytes.lua"

local holder = redis.call('GET', lease)
if holder and holder ~= token then return {math.max(redis.call('PTTL', lease), 1)} end
redis.call('SET', lease, token, 'PX', lease_ms)

local last, restarted = nil, ''
if redis.call('EXISTS', log) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then last = fields['last-delivered-id'] end
  end
end
if not last then
  local mark = redis.call('HGET', log_counters, 'dispatched')
  last, restarted = mark or '0-0', mark or ''
  redis.call('XGROUP', 'CREATE', log, group, last, 'MKSTREAM')
end

-- Size of the entries, in bytes, above which no more are read: Redis runs nothing else meanwhile.
local MAX_BYTES = 2000000
-- Number of entries that the first command reads. The next ones read as many as will probably fit.
local FIRST_COUNT = 16

local entries, bytes, room = {}, 0, tonumber(max_count)
-- Calls `read` with a number of entries until the maximum is reached or `read` returns nil. `read` returns a list.
local function collect(read)
  local count = math.min(FIRST_COUNT, room)
  while count > 0 do
    local found = read(count)
    if not found then return end
    for _, entry in ipairs(found) do
      entries[#entries + 1] = entry
      bytes = bytes + entry_bytes(entry)
    end
    if bytes > MAX_BYTES then return end
    local average = math.max(bytes / math.max(#entries, 1), 1)
    count = math.min(room - #entries, math.max(math.floor((MAX_BYTES - bytes) / average), 1))
  end
end

local cursor = '0-0'
collect(function(count)
  if not cursor then return nil end
  local found = redis.call('XAUTOCLAIM', log, group, 'reader', 0, cursor, 'COUNT', count)
  cursor = found[1] ~= '0-0' and found[1] or nil
  return found[2]
end)
if #entries == 0 then
  collect(function(count)
    local new = redis.call('XREADGROUP', 'GROUP', group, 'reader', 'COUNT', count, 'STREAMS', log, '>')
    return new and new[1][2]
  end)
end
return {0, restarted, entries}
