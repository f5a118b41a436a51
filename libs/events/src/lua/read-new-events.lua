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
-- @field entries     Entries of the stream.

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

local entries = redis.call('XAUTOCLAIM', log, group, 'reader', 0, '0-0', 'COUNT', max_count)[2]
if #entries == 0 then
  local new = redis.call('XREADGROUP', 'GROUP', group, 'reader', 'COUNT', max_count, 'STREAMS', log, '>')
  if new then entries = new[1][2] end
end
return {0, restarted, entries}
