--- Records that an administrator has confirmed the suspect deletions of the account.
-- @key list            Hash of the contact list as it was last read.
-- @reply               Number of fields added.
--- @include "includes/due-at.lua"

return redis.call('HSET', list, 'believedAt', due_at(0))
