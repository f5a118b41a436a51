--- Counts an account's contacts by their message rate.

-- Counts a contact in this bucket of message rates instead of its former bucket. If the bucket is '', the contact is no
-- longer counted.
local function count_rate(contact, rates, bucket)
  local before = redis.call('HGET', contact, 'b') or ''
  if before == bucket then return end
  if before ~= '' and redis.call('HINCRBY', rates, before, -1) < 1 then redis.call('HDEL', rates, before) end
  if bucket == '' then redis.call('HDEL', contact, 'b')
  else
    redis.call('HINCRBY', rates, bucket, 1)
    redis.call('HSET', contact, 'b', bucket)
  end
end
