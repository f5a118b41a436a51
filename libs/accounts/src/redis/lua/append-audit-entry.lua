--- Appends an entry to the audit log of an account, and removes the entries beyond the bounds.
-- The new id is greater than all ids in the streams of all categories, so that the ids define one order of all entries.
-- @key entries      Stream of the account's entries of one category.
-- @keys others      Streams of the account's entries of the other categories.
-- @arg entry        The entry as JSON.
-- @arg max_entries  Maximum number of entries of the stream.
-- @arg retention    Time for which entries are kept, in ms.
-- @reply            Id of the entry.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()
local ms, count = now, 0
local streams = {entries}
for i = others_from, #KEYS do streams[#streams + 1] = KEYS[i] end
for _, stream in ipairs(streams) do
  local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  if last then
    local last_ms, last_count = string.match(last[1], '(%d+)-(%d+)')
    last_ms, last_count = tonumber(last_ms), tonumber(last_count)
    if last_ms > ms then ms, count = last_ms, 0 end
    if last_ms == ms and last_count >= count then count = last_count + 1 end
  end
end
local id = whole(ms) .. '-' .. whole(count)
redis.call('XADD', entries, 'MAXLEN', max_entries, id, 'entry', entry)
redis.call('XTRIM', entries, 'MINID', whole(now - tonumber(retention)))
redis.call('PEXPIRE', entries, retention)
return id
