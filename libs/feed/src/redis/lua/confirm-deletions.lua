--- Confirms the deletions that are suspect.
-- @key list            Hash of the contact list as it was last read.
-- @reply               Number of fields added.
--- @include "includes/due-at.lua"

return redis.call('HSET', list, 'believedAt', due_at(0))
