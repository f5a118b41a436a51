--- Changes the state of a send together with its events in one atomic step.
-- Nothing happens if the send changed since it was read, or if the message that it claims belongs to another send. A
-- transition that was already made, because the reply to the first call was lost, is recognized by its nonce.
-- @key log              Stream of the account's events.
-- @key log_index        Hash from an event's id to its position in the log.
-- @key log_counters     Hash of the log's counters.
-- @key send             Hash of the send.
-- @key lane             List of the sends in the recipient's lane.
-- @key lanes_due        Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since      Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths      Sorted set of recipients by the number of sends in their lane.
-- @key awaiting         Sorted set of sends that await a message of the recipient.
-- @key confirms         Sorted set of sends by when the next check for their message is due.
-- @key scheduled        Sorted set of scheduled sends by their time.
-- @key finished         Sorted set of finished sends by when they finished.
-- @key claims           Hash from a message to the send that claims it.
-- @key status_before    Set of the sends with the status that the send had before.
-- @key status_after     Set of the sends with the new status of the send.
-- @key expiring         Sorted set of sends by when they expire.
-- @key undecided        Sorted set of accepted and unknown sends by when they got that status.
-- @key rows             Hash from a contact's id to the part of its row that its messages decide, as JSON.
-- @key row_order        Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends        Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words        Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision     Latest revision that was assigned, over all rows of the account.
-- @key numbers          Hash from a phone number to its most likely contact.
-- @arg id               The send's id.
-- @arg revision         Revision with which the send was read.
-- @arg state            New state as JSON.
-- @arg recipient        Phone number of the recipient.
-- @arg location_before  Location of the send before: 'schedule', 'lane' or 'archive'.
-- @arg location_after   Location of the send after the transition.
-- @arg lane_due_in      Time until the lane is due in ms, or '' to leave it unchanged.
-- @arg is_awaiting      'yes' if the send awaits a message, else 'no'.
-- @arg confirm_in       Time until the next check for the message in ms, 'never', or '' to leave it unchanged.
-- @arg message          Message that the send claims, or ''.
-- @arg claim            Value to store in `claims` for this message.
-- @arg nonce            Random id of this transition.
-- @arg run              'mustMatch': nothing happens if the send was stored in another Redis run; 'update': sets the
--                       send's run to the current run; or ''.
-- @arg nonce_before     Nonce with which the send was read.
-- @arg expires_at       New expiry time of the send in ms, 'never', or '' to leave it unchanged.
-- @arg is_undecided     'undecided' or ''.
-- @arg rows_kept        'on' if rows are kept, or 'off'.
-- @arg row_count        How a row counts the send after the transition: 'p', 'f' or ''.
-- @arg is_over          'over' if the row no longer shows the send, or ''.
-- @arg notice           The send's new status as JSON, for event streams.
-- @args events          Events to append (`appendEventsLuaArguments`).
-- @reply                2 if the send left its lane empty, else 1; 0 if nothing happened.
--- @include "@events/lua/includes/append-events.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "includes/send-lanes.lua"
--- @include "@conversations/redis/lua/includes/row-sends.lua"

local stored = redis.call('HMGET', send, 'nonce', 'revision', 'life', 'place', 'row')
local step = stored[1] or ''
if stored[2] ~= revision or step ~= nonce_before then
  return step == nonce and 1 or 0
end
if run == 'mustMatch' and stored[3] ~= redis_run() then return 0 end
if message ~= '' then
  local owner = redis.call('HGET', claims, message)
  if owner and string.match(owner, '^%S+') ~= id then return 0 end
  redis.call('HSET', claims, message, claim)
end
local now = now_ms()
redis.call('HSET', send, 'state', state, 'revision', revision + 1, 'nonce', nonce)
if run == 'update' then redis.call('HSET', send, 'life', redis_run()) end
if location_before ~= location_after then
  if location_before == 'schedule' then redis.call('ZREM', scheduled, scheduled_as(send, id))
  elseif location_before == 'lane' then leave_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now)
  else
    redis.call('ZREM', finished, id)
    redis.call('ZREM', undecided, id)
  end
  if location_after == 'lane' then join_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now) end
end
if status_before ~= status_after then
  redis.call('ZREM', status_before, id)
  redis.call('ZADD', status_after, stored[4], id)
end
if location_after == 'archive' and is_undecided == 'undecided' then
  redis.call('ZREM', finished, id)
  redis.call('ZADD', undecided, 'NX', whole(now), id)
elseif location_after == 'archive' then
  redis.call('ZREM', undecided, id)
  redis.call('ZADD', finished, whole(now), id)
end
if lane_due_in ~= '' then redis.call('ZADD', lanes_due, 'XX', whole(now + lane_due_in), recipient) end
if is_awaiting == 'yes' then redis.call('ZADD', awaiting, 'NX', whole(now), id)
else redis.call('ZREM', awaiting, id) end
if confirm_in == 'never' then redis.call('ZREM', confirms, id)
elseif confirm_in ~= '' then redis.call('ZADD', confirms, whole(now + confirm_in), id) end
if expires_at == 'never' then redis.call('ZREM', expiring, id)
elseif expires_at ~= '' then redis.call('ZADD', expiring, expires_at, id) end
if rows_kept == 'on' then
  local counted = stored[5] or ''
  if counted ~= row_count or is_over == 'over' then
    redis.call('HSET', send, 'row', row_count)
    recount_send(recipient, id, counted, row_count, is_over == 'over')
  end
end
if status_before ~= status_after then publish_change('send ' .. notice) end
if #ARGV >= events_from + 2 then append_events(events_from) end
return location_before == 'lane' and location_after ~= 'lane' and redis.call('EXISTS', lane) == 0 and 2 or 1
