--- Commits a poll of a contact with its snapshots, schedule and events in one atomic step.
-- The commit is refused if the record's version or the Redis run changed since the record was read. The version
-- alone is not enough: a restart of Redis may lose the last commits, and their versions are then used again.
-- @key log                Stream of the account's events.
-- @key log_index          Hash from an event's id to its position in the log.
-- @key log_counters       Hash of the log's counters.
-- @key contact            Hash of the contact's record.
-- @key messages           Hash from a message's id to what is known about it.
-- @key due                Sorted set of contacts by when they are polled next, in ms.
-- @key list               Hash of the contact list as it was last read.
-- @key numbers            Hash from a phone number to its most likely contact.
-- @key suspects           Hash from a contact to the time since which its messages are suspect.
-- @key deep               Sorted set of contacts by when their read of older messages is due, in ms.
-- @key rates              Hash from a bucket of message rates to its number of contacts.
-- @key facts              Hash of the statistics of the account's polls.
-- @key slot               Hash of the detection delays in the current time slot.
-- @key other_numbers      Hash from a phone number to its other contacts, as JSON.
-- @key rows               Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order          Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends          Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words          Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision       Latest revision that was assigned, over all rows of the account.
-- @arg contact_id         The contact's id.
-- @arg version            Version with which the record was read.
-- @arg poll_state         `PollState`, packed; '' leaves the state and the version unchanged.
-- @arg bucket             Bucket of the contact's message rate, or ''.
-- @arg due_in             In how many ms the contact is polled next, or '' to leave that unchanged.
-- @arg expedite_requests  Number of requests to poll sooner when the record was read.
-- @arg deletes_snapshots  'yes' to delete all message snapshots, or ''.
-- @arg suspect_at         When the poll began, in ms, if it found the contact's messages suspect, or ''.
-- @arg messages_shown_at  When the poll began, in ms, if it returned a message, or ''.
-- @arg unreadable         Number of elements that were newly found unreadable.
-- @arg message_count      Number of messages in `changes`.
-- @arg run                Redis run in which the record was read.
-- @arg suspicion          Since when the messages are suspect, in ms; 'over'; or ''.
-- @arg extension          `RebuildablePollState`, packed, or 'unchanged'.
-- @arg baseline           Time after which messages are emitted, in ms; 'unchanged'; or 'over'.
-- @arg deep_read          Whether to schedule a read of older messages: 'atMost' (unless one is scheduled earlier, or
--                         waits for its retry), 'replace' (in any case), 'unchanged', or 'over' (none is needed).
-- @arg deep_in            In how many ms the read of older messages is due.
-- @arg longest_page       Length of a page that is longer than the account's longest, or ''.
-- @arg rows_kept          'on' if rows are kept, or 'off'.
-- @arg row_is_new         'new' if the contact has no row yet, or ''.
-- @args changes           Pairs of a message's id and what is known about it; number of phone numbers; phone
--                         numbers; changes of the row (`rowUpdateLuaArguments`); number of search words of a new row;
--                         words; number of phone numbers in the contact's fields; numbers; the report
--                         (`pollReportLuaArguments`); events to append (`appendEventsLuaArguments`).
-- @reply                  Detection delays of the new messages as texts in ms, or 0 if the contact changed since it was
--                         read.
--- @include "@events/lua/includes/append-events.lua"
--- @include "includes/due-at.lua"
--- @include "includes/texts.lua"
--- @include "includes/rates.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "../../delay/lua/includes/poll-report.lua"
--- @include "includes/note-number.lua"
--- @include "includes/contact-row.lua"

if redis.call('HGET', contact, 'v') ~= version then return 0 end
if redis_run() ~= run then return 0 end
if deletes_snapshots == 'yes' then redis.call('DEL', messages) end
if suspect_at ~= '' then redis.call('HSET', list, 'suspectAt', suspect_at) end
if messages_shown_at ~= '' then redis.call('HSET', list, 'shownAt', messages_shown_at) end
if unreadable ~= '0' then redis.call('HINCRBY', list, 'unreadable', unreadable) end
-- A contact that was deleted meanwhile is no longer scheduled.
local scheduled = redis.call('ZSCORE', due, contact_id)
if suspicion ~= '' or not scheduled then
  -- Suspicions that were confirmed as deletions are not kept: readers of the suspicions read only some of them.
  local is_open = scheduled and suspicion ~= 'over'
    and tonumber(suspicion) > tonumber(redis.call('HGET', list, 'believedAt') or 0)
  if is_open then redis.call('HSET', suspects, contact_id, suspicion)
  else redis.call('HDEL', suspects, contact_id) end
end
if longest_page ~= '' and tonumber(longest_page) > tonumber(redis.call('HGET', list, 'longestPage') or 0) then
  redis.call('HSET', list, 'longestPage', longest_page)
end
local at = changes_from
for _ = 1, tonumber(message_count) do
  redis.call('HSET', messages, ARGV[at], ARGV[at + 1])
  at = at + 2
end
local count = tonumber(ARGV[at])
local adopted, released = {}, {}
for i = at + 1, at + count do
  local is_new, before = note_number(numbers, other_numbers, ARGV[i], contact_id, true)
  if is_new then
    adopted[#adopted + 1] = ARGV[i]
    released[#released + 1] = before or nil
  end
end
if poll_state ~= '' then
  redis.call('HSET', contact, 'v', version + 1)
  put_text(contact, 'm', poll_state)
end
if extension ~= 'unchanged' then put_text(contact, 'x', extension) end
redis.call('HDEL', contact, 'lost', 'failed')
if baseline == 'over' then redis.call('HDEL', contact, 'tellAfter')
elseif baseline ~= 'unchanged' then redis.call('HSET', contact, 'tellAfter', baseline) end
if not scheduled or deep_read == 'over' then redis.call('ZREM', deep, contact_id)
elseif deep_read == 'atMost' then
  -- A read that failed is not repeated before the time of its retry.
  local condition = redis.call('HEXISTS', contact, 'failedDeep') == 1 and 'NX' or 'LT'
  redis.call('ZADD', deep, condition, due_at(deep_in), contact_id)
elseif deep_read == 'replace' then redis.call('ZADD', deep, due_at(deep_in), contact_id) end
if due_in ~= '' then
  if scheduled then
    count_rate(contact, rates, bucket)
    redis.call('ZADD', due, due_at(due_in), contact_id)
    if (redis.call('HGET', contact, 'hastened') or '0') ~= expedite_requests then
      redis.call('ZADD', due, 'LT', redis.call('HGET', contact, 'hastenedTo'), contact_id)
    end
  end
  -- The requests to poll sooner are fulfilled, so their number is reset if the version changes. The commits of other
  -- polls under way are then refused because of the version. So the numbers that these polls read earlier are never
  -- compared with the reset number.
  if poll_state ~= '' then redis.call('HDEL', contact, 'hastened', 'hastenedTo') end
end
local report = commit_row(contact_id, at + count + 1, scheduled, adopted, released)
local first_event, delays = record_report(facts, slot, report)
append_events(first_event)
return delays
