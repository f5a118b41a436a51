--- Reads the stored state of the contact list.
-- @key list                      Hash of the contact list as it was last read.
-- @key upstreams                 Hash from an upstream address to its service.
-- @reply                         An array; a field is nil if it is unknown.
-- @field now                     The time in ms.
-- @field revision_floor          Lower bound of new event revisions.
-- @field run                     The Redis run.
-- @field version                 Version of the list.
-- @field listed_at               When the list was last read completely and no outage was suspected, in ms.
-- @field suspect_since           Since when the list is suspect, in ms.
-- @field deletions_confirmed_at  When deletions were last confirmed, in ms.
-- @field suspect_at              When the list was last found suspect, in ms.
-- @field count                   Number of contacts in the last list.
-- @field skipped                 Number of unreadable elements in the last list.
-- @field upstream                Hash of the upstream address from which the last list was read.
-- @field unreadable              History of unreadable elements.
-- @field replacing               Version of the list after the latest part of an unfinished commit whose new contacts
--                                replace the known ones.
-- @field services                Pairs of an upstream address and its service.
--- @include "includes/due-at.lua"
--- @include "includes/revision-floor.lua"

local state = redis.call('HMGET', list, 'version', 'listedAt', 'suspectSince', 'believedAt', 'suspectAt', 'count',
  'skipped', 'upstream', 'unreadableListed', 'replacing')
local reply = {due_at(0), revision_floor(list), redis_run(), unpack(state)}
reply[#reply + 1] = redis.call('HGETALL', upstreams)
return reply
