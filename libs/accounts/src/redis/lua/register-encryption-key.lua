--- Notes the encryption key that seals, unless a noted key is missing from the ring.
-- Then nothing is noted: a process with a wrong key stops nobody but itself.
-- @key encryption_keys   Set of the ids of the keys that something may be sealed with.
-- @arg sealing_key       Id of the key that seals.
-- @args ring             Ids of the keys that the process has.
-- @reply                 Ids of the noted keys that the ring lacks.

local ring, missing = {}, {}
for i = ring_from, #ARGV do ring[ARGV[i]] = true end
for _, id in ipairs(redis.call('SMEMBERS', encryption_keys)) do
  if not ring[id] then missing[#missing + 1] = id end
end
if #missing == 0 and redis.call('SISMEMBER', encryption_keys, sealing_key) == 0 then
  redis.call('SADD', encryption_keys, sealing_key)
end
return missing
