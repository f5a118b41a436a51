--- Finds out when the next contact of an account is due, and whether the contact list must be read.
-- If Redis' clock was set back, the script first brings the due times forward, and ends all leases.
-- @key due                       Sorted set of contacts by when they are polled next, in ms.
-- @key list                      Hash of the contact list as it was last read.
-- @key deep                      Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases                    Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased                    Sorted set of the same members by the ends of their leases, in ms.
-- @key latest_time               Latest known time in ms.
-- @reply                         An array.
-- @field due_in_ms               In how many ms the first contact is due, or ''.
-- @field due                     Number of reads that are due.
-- @field is_list_poll_requested  1 if the contact list has to be read, else 0.
--- @include "@platform/redis/lua/includes/clock-steps.lua"

local now = now_ms()
local back = redis.call('EXISTS', due, deep) > 0 and set_back_by(latest_time, now) or 0
if back > 0 then
  bring_forward(due, back, now)
  bring_forward(deep, back, now)
  redis.call('DEL', leases, leased)
end
local first, due_count = nil, 0
for _, index in ipairs({due, deep}) do
  local at = tonumber(redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2])
  if at and (not first or at < first) then first = at end
  if at and at <= now then due_count = due_count + redis.call('ZCOUNT', index, '-inf', whole(now)) end
end
local state = redis.call('HMGET', list, 'wished', 'listedAt')
local wanted = state[1] or not state[2]
return {first and whole(math.max(first - now, 0)) or '', due_count, wanted and 1 or 0}
