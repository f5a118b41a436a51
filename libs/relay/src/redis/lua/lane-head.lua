--- Reads the first send of a lane. Removes ids whose send no longer exists, because they would block the lane.
-- @key lane               List of the sends in the recipient's lane.
-- @key lanes_due          Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since        Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths        Sorted set of recipients by the number of sends in their lane.
-- @key known_run          Hash of the last known Redis run and its start.
-- @key upstreams          Hash from an upstream address to its service.
-- @key poll_facts         Hash of the statistics of the account's polls.
-- @arg send_prefix        Prefix of the keys of sends, in the same hash slot.
-- @arg recipient          Phone number of the recipient.
-- @reply                  An array; empty if the lane is empty.
-- @field now              The time in ms.
-- @field order            The unchanging part of the send, as JSON.
-- @field state            State of the send, as JSON.
-- @field revision         Revision of the send.
-- @field other_run_since  Start of the current Redis run in ms if the send was stored in another run, else ''.
-- @field new_run_since    Start of the current Redis run in ms if this call is the first to report the run, else
--                         ''.
-- @field upstream_ahead   By how many ms upstream's clock is ahead of Redis' clock, or '' if this is not known.
-- @fields services        Pairs of an upstream address and its service.
--- @include "includes/send-lanes.lua"
--- @include "includes/known-run.lua"
--- @include "includes/clock-difference.lua"

while true do
  local id = redis.call('LINDEX', lane, 0)
  if not id then return {} end
  local record = redis.call('HMGET', send_prefix .. id, 'order', 'state', 'revision', 'life')
  if record[1] then
    local current = redis_run()
    local since, reported = run_since(known_run)
    local is_reported = reported == current
    -- A new run is reported together with a send. If the lane is empty, a later call reports it.
    if not is_reported then redis.call('HSET', known_run, 'reported', current) end
    return {whole(now_ms()), record[1], record[2], record[3], record[4] == current and '' or since,
      is_reported and '' or since, upstream_ahead(), unpack(redis.call('HGETALL', upstreams))}
  end
  leave_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now_ms())
end
