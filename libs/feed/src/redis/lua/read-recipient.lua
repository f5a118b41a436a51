--- Reads the contacts to which a phone number may belong.
-- @key numbers                   Hash from a phone number to its most likely contact.
-- @key other_numbers             Hash from a phone number to its other contacts, as JSON.
-- @key contacts                  Hash from a contact's id to the contact as it was listed.
-- @key list                      Hash of the contact list as it was last read.
-- @arg phone_number              The phone number.
-- @reply                         An array.
-- @field read_at                 When the list was last read, in ms, or '' if this is not known.
-- @field suspect_since           Since when the list is suspect, in ms, or ''.
-- @field deletions_confirmed_at  When deletions were last confirmed, in ms, or ''.
-- @fields rest                   Pairs of a contact's id and the contact as it was listed, or ''.
--- @include "@platform/redis/lua/includes/now.lua"

local state = redis.call('HMGET', list, 'readAt', 'suspectSince', 'believedAt')
-- If Redis' clock was set back since the list was read, the time of the read says nothing about its age.
if state[1] and tonumber(state[1]) > now_ms() then state[1] = nil end
local reply = {state[1] or '', state[2] or '', state[3] or ''}
local function add(id)
  reply[#reply + 1] = id
  reply[#reply + 1] = redis.call('HGET', contacts, id) or ''
end
local first = redis.call('HGET', numbers, phone_number)
if first then add(first) end
for _, other in ipairs(cjson.decode(redis.call('HGET', other_numbers, phone_number) or '[]')) do
  if other ~= first then add(other) end
end
return reply
