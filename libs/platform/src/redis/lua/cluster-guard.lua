--- Begins each script on a Redis Cluster. Fails if the slot of the keys is moving to another node.
-- While a slot moves, each of its keys is on one of two nodes. A script that uses a key that it does not declare would
-- fail halfway, after some of its writes, or would treat a key as missing. The guard therefore reads two keys of the
-- slot, one of which never exists. While the slot moves, this fails on both nodes. The client repeats a script that
-- fails with TRYAGAIN.
-- @keys keys   Keys of the script.
-- @reply       An error if the slot is moving.

local key_of_slot = KEYS[keys_from]
if key_of_slot then
  local missing = string.find(key_of_slot, '{', 1, true) and key_of_slot .. ':none' or '{' .. key_of_slot .. '}:none'
  local found = redis.pcall('EXISTS', key_of_slot, missing)
  if type(found) == 'table' and string.find(found.err or '', 'non local key', 1, true) then
    return redis.error_reply('TRYAGAIN the slot of the keys is moving to another node')
  end
end
