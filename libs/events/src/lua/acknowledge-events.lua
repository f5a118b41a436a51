--- Acknowledges entries, and moves the dispatched mark to the position up to which all entries are acknowledged.
-- If Redis loses the consumer group, the group is created again at the mark. Retention never removes events after the
-- mark.
-- @key log           Stream of the account's events.
-- @key log_counters  Hash of the log's counters.
-- @arg group         Name of the consumer group.
-- @args positions    Positions of the entries in the log.
-- @reply             Nothing.

for i = positions_from, #ARGV do redis.call('XACK', log, group, ARGV[i]) end
local pending = redis.call('XPENDING', log, group)
if pending[1] > 0 then
  local ms, n = string.match(pending[2], '^(%d+)-(%d+)$')
  local mark
  if tonumber(n) > 0 then mark = ms .. '-' .. string.format('%d', tonumber(n) - 1)
  else mark = string.format('%d', tonumber(ms) - 1) .. '-18446744073709551615' end
  redis.call('HSET', log_counters, 'dispatched', mark)
else
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then redis.call('HSET', log_counters, 'dispatched', fields['last-delivered-id']) end
  end
end
