--- Reads the sends that are due.
-- @key due             Sorted set by time, whose members end with the id of a send.
-- @arg max_count       Maximum number of sends.
-- @arg send_prefix     Prefix of the keys of sends, in the same hash slot.
-- @reply               Arrays of member, id, order, state and revision; the last three are '' if the send was removed.
--- @include "@platform/redis/lua/includes/now.lua"

local sends = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', whole(now_ms()), 'LIMIT', 0, max_count)) do
  local id = string.match(member, '%S+$')
  local record = redis.call('HMGET', send_prefix .. id, 'order', 'state', 'revision')
  sends[#sends + 1] = {member, id, record[1] or '', record[2] or '', record[3] or ''}
end
return sends
