--- Reads the health of endpoints: failures and successes, pauses, and what waits.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @args endpoints  Ids of the endpoints.
-- @reply           For each endpoint: time of the first failure since the last success, time of the last success, time
--                  until which no attempt begins, time of the oldest event that waits for room in the backlog (each in
--                  ms, or ''), and number of pending deliveries.
--- @include "includes/backlog.lua"

local reply = {}
for i = endpoints_from, #ARGV do
  local id = ARGV[i]
  reply[#reply + 1] = redis.call('HGET', pace(id), 'failingSince') or ''
  reply[#reply + 1] = redis.call('HGET', backlog(id), 'succeededAt') or ''
  local held = redis.call('HGET', pace(id), 'heldUntil')
  reply[#reply + 1] = held and tonumber(held) > NOW and held or ''
  reply[#reply + 1] = behind_since(id) or ''
  reply[#reply + 1] = pending_at(id)
end
return reply
