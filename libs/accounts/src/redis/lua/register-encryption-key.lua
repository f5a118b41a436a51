--- Registers the current encryption key of a process.
-- If the process lacks a registered key, nothing is registered. A process with a wrong key thus affects no other
-- process.
-- @key encryption_keys  Set of the ids of the keys that stored secrets may be encrypted with.
-- @arg sealing_key      Id of the process's current encryption key, with which it encrypts secrets.
-- @args ring            Ids of all encryption keys of the process.
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
