--- Reads the first send of a lane. Removes ids whose send no longer exists, because they would block the lane.
-- @key lane               List of the sends in the recipient's lane.
-- @key lanes_due          Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since        Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths        Sorted set of recipients by the number of sends in their lane.
-- @key known_run          Hash of the last known Redis run and its start.
-- @key upstreams          Hash from an upstream address to its service.
-- @arg send_prefix        Prefix of the keys of sends, in the slot of the keys.
-- @arg recipient          Phone number of the recipient.
-- @reply                  An array; empty if the lane is empty.
-- @field now              The time in ms.
-- @field order            The unchanging part of the send, as JSON.
-- @field state            State of the send, as JSON.
-- @field revision         Revision of the send.
-- @field other_run_since  Start of the current Redis run in ms if the send was stored in another run, else ''.
-- @field new_run_since    Start of the current Redis run in ms if this call is the first to notice the run, else
--                         ''.
-- @fields services        Pairs of an upstream address and its service.
--- @include "includes/send-lanes.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"

-- The call that notices a new run must report it together with a send. If the lane is empty, the next call notices
-- it.
local function since_when(current)
  local known = redis.call('HGET', known_run, 'id')
  if known == current then return redis.call('HGET', known_run, 'since'), '' end
  local now = whole(now_ms())
  redis.call('HSET', known_run, 'id', current, 'since', now)
  return now, known and now or ''
end
while true do
  local id = redis.call('LINDEX', lane, 0)
  if not id then return {} end
  local record = redis.call('HMGET', send_prefix .. id, 'order', 'state', 'revision', 'life')
  if record[1] then
    local current = redis_run()
    local since, noticed = since_when(current)
    return {whole(now_ms()), record[1], record[2], record[3], record[4] == current and '' or since, noticed,
      unpack(redis.call('HGETALL', upstreams))}
  end
  leave_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now_ms())
end
