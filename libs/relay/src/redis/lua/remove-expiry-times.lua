--- Removes the expiry times of sends that can no longer expire, except sends that changed since they were read.
-- When such a send is queued again, its expiry time is stored again.
-- @key expiring     Sorted set of sends by when they expire.
-- @arg send_prefix  Prefix of the keys of sends, in the slot of the keys.
-- @args sends       Pairs of a send's id and its revision; the revision is '' if the send does not exist.
-- @reply            1.

for i = sends_from, #ARGV, 2 do
  if (redis.call('HGET', send_prefix .. ARGV[i], 'revision') or '') == ARGV[i + 1] then
    redis.call('ZREM', expiring, ARGV[i])
  end
end
return 1
