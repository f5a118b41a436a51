--- Records that an administrator has confirmed the suspect deletions of the account.
-- @key list            Hash of the contact list as it was last read.
-- @key suspects        Hash from a contact to the time since which its messages are suspect.
-- @reply               Number of fields added.
--- @include "includes/due-at.lua"

-- The first write stores something, so that a full Redis refuses the whole script.
local added = redis.call('HSET', list, 'believedAt', due_at(0))
-- Every suspicion until now is confirmed.
redis.call('UNLINK', suspects)
return added
