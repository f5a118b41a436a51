--- Registers the current encryption key, unless the process lacks a registered key.
-- In that case nothing is registered, so that a process with a wrong key affects no other process.
-- @key encryption_keys  Set of the ids of the keys that stored secrets may be encrypted with.
-- @arg sealing_key      Id of the key that encrypts.
-- @args ring            Ids of all keys of the process.
-- @reply                Ids of the registered keys that the process lacks.

local ring, missing = {}, {}
for i = ring_from, #ARGV do ring[ARGV[i]] = true end
for _, id in ipairs(redis.call('SMEMBERS', encryption_keys)) do
  if not ring[id] then missing[#missing + 1] = id end
end
if #missing == 0 and redis.call('SISMEMBER', encryption_keys, sealing_key) == 0 then
  redis.call('SADD', encryption_keys, sealing_key)
end
return missing
