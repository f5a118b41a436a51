--- Removes finished sends with all their data, except sends that changed since they were read.
-- @key finished         Sorted set of finished sends by when they finished.
-- @key confirms         Sorted set of sends by when the next check for their message is due.
-- @key claims           Hash from a message to the send that claims it.
-- @key rows            Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order       Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends       Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words       Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision    Latest revision that was assigned, over all rows of the account.
-- @key numbers         Hash from a phone number to its most likely contact.
-- @arg send_prefix      Prefix of the keys of sends, in the same hash slot.
-- @arg awaiting_prefix  Prefix of the keys of the sets of sends that await a message of a recipient.
-- @arg missing_ids      Ids of sends that no longer exist, as JSON.
-- @arg rows_kept        'on' if rows are kept, or 'off'.
-- @args sends           Each send as JSON: id, revision, recipient, claims, and the sets that list it.
-- @reply                Ids of the sends that were removed.
--- @include "@conversations/redis/lua/includes/row-sends.lua"

for _, id in ipairs(cjson.decode(missing_ids)) do redis.call('ZREM', finished, id) end
local removed = {}
for i = sends_from, #ARGV do
  local send = cjson.decode(ARGV[i])
  local key = send_prefix .. send.id
  if redis.call('HGET', key, 'revision') == send.revision then
    local counted = redis.call('HGET', key, 'row') or ''
    redis.call('DEL', key)
    if rows_kept == 'on' then recount_send(send.recipient, send.id, counted, '', true) end
    redis.call('ZREM', finished, send.id)
    redis.call('ZREM', confirms, send.id)
    redis.call('ZREM', awaiting_prefix .. send.recipient, send.id)
    for _, set in ipairs(send.sets) do redis.call('ZREM', set, send.id) end
    for _, claim in ipairs(send.claims) do redis.call('HDEL', claims, claim) end
    removed[#removed + 1] = send.id
  end
end
return removed
