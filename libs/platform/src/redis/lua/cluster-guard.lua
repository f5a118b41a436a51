--- Begins each script on a Redis Cluster: fails if the slot of the keys is moving to another node.
-- While a slot moves, some of its keys are on the one node and others on the other. A script that uses a key that it
-- does not declare would fail in its middle, after some of its writes, or would treat a key as missing. The guard
-- therefore asks for two keys of the slot, one of which never exists: while the slot moves, this fails on both nodes.
-- A client repeats a script that got TRYAGAIN.
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
