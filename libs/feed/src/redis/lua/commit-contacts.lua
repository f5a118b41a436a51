--- Commits a part of a contact list with its events in one atomic step.
-- The commit is refused if the list's version or the Redis run changed since the list was read.
-- @key log            Stream of the account's events.
-- @key log_index      Hash from an event's id to its position in the log.
-- @key log_counters   Hash of the log's counters.
-- @key contacts       Hash from a contact's id to the contact as it was listed.
-- @key list           Hash of the contact list as it was last read.
-- @key due            Sorted set of contacts by when they are polled next, in ms.
-- @key numbers        Hash from a phone number to its most likely contact.
-- @key other_numbers  Hash from a phone number to its other contacts, as JSON.
-- @key suspects       Hash from a contact to the time since which its messages are suspect.
-- @key deep           Sorted set of contacts by when their read of older messages is due, in ms.
-- @key rates          Hash from a bucket of message rates to its number of contacts.
-- @key upstreams      Hash from an upstream address to its service.
-- @key rows           Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order      Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends      Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words      Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision   Latest revision that was assigned, over all rows of the account.
-- @keys records       Hashes of the contacts' records.
-- @arg version        Version with which the list was read.
-- @arg listed_at      When the list was read, in ms, or '' if more parts follow.
-- @arg suspect_since  Since when the list is suspect, in ms, or ''.
-- @arg count          Number of contacts.
-- @arg run            Redis run in which the list was read.
-- @arg skipped        Number of unreadable elements.
-- @arg read_at        When the reading began, in ms.
-- @arg upstream       Hash of the upstream address from which the list was read.
-- @arg service        Hash of the earliest known address of the same service.
-- @arg unreadable     History of unreadable elements.
-- @arg replaces       'yes' if the new contacts of the list replace the known ones, or ''.
-- @arg rows_kept      'on' if rows are kept, or 'off'.
-- @args changes       For each contact: id; contact as listed; raw text or ''; time after which messages are
--                     emitted, or ''; revision or ''; 'yes' if it is present or ''; number of phone numbers; phone
--                     numbers; number of search words; words; number of removed search words; words. Then the
--                     events to append (`appendEventsLuaArguments`).
-- @reply              1, or 0 if the list changed since it was read.
--- @include "@events/lua/includes/append-events.lua"
--- @include "includes/due-at.lua"
--- @include "includes/texts.lua"
--- @include "includes/rates.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "includes/note-number.lua"
--- @include "includes/listed-row.lua"

-- Maximum number of stored addresses of an account. Beyond this number, all are removed: an account normally has few.
local MAX_ADDRESSES = 100

local now = due_at(0)
if (redis.call('HGET', list, 'version') or '0') ~= version then return 0 end
if redis_run() ~= run then return 0 end
-- The service of the address is stored together with the first part of the list. If a crash prevents the commit of
-- the other parts, the next list would otherwise look like a list of the previous service.
if redis.call('HEXISTS', upstreams, upstream) == 0 then
  if redis.call('HLEN', upstreams) >= MAX_ADDRESSES then redis.call('DEL', upstreams) end
  redis.call('HSET', upstreams, upstream, service)
end
local at = changes_from
for i = 1, tonumber(count) do
  local id, raw, emit_after, revision, present = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  local contact = KEYS[records_from + i - 1]
  redis.call('HSET', contacts, id, ARGV[at + 1])
  if revision ~= '' then redis.call('HSET', contact, 'rev', revision) end
  if raw ~= '' then put_text(contact, 'r', raw) end
  if present == 'yes' then
    if redis.call('HSETNX', contact, 'v', 0) == 1 then
      redis.call('HSET', contact, 'tellAfter', emit_after)
      create_row(id)
    end
    if raw ~= '' or not redis.call('ZSCORE', due, id) then
      redis.call('HINCRBY', contact, 'hastened', 1)
      redis.call('HSET', contact, 'hastenedTo', now)
      redis.call('ZADD', due, 'LT', now, id)
    end
  else
    redis.call('ZREM', due, id)
    redis.call('HDEL', suspects, id)
    redis.call('ZREM', deep, id)
    count_rate(contact, rates, '')
  end
  local number_count = tonumber(ARGV[at + 6])
  local adopted = {}
  for n = at + 7, at + 6 + number_count do
    if note_number(numbers, other_numbers, ARGV[n], id, false) then adopted[#adopted + 1] = ARGV[n] end
  end
  at = list_row(id, present == 'yes', raw ~= '', at + 7, number_count, adopted)
end
-- A list without changes keeps the version, so that concurrent commits are not refused.
if tonumber(count) > 0 or #ARGV > at + 1 then redis.call('HSET', list, 'version', version + 1) end
-- If a crash prevents the commit of the other parts, the next list has too few new contacts to look like a
-- replacement. `replacing` is the version after the latest part.
if listed_at == '' and replaces == 'yes' then redis.call('HSET', list, 'replacing', version + 1) end
if listed_at ~= '' then
  redis.call('HDEL', list, 'replacing')
  redis.call('HSET', list, 'listedAt', listed_at, 'skipped', skipped, 'readAt', read_at,
    'upstream', upstream, 'unreadableListed', unreadable)
  redis.call('HDEL', list, 'listFault', 'listFaultSince')
  if suspect_since ~= '' then redis.call('HSET', list, 'suspectSince', suspect_since, 'suspectAt', now)
  else redis.call('HDEL', list, 'suspectSince') end
  redis.call('HSET', list, 'count', redis.call('HLEN', contacts))
end
append_events(at)
return 1
