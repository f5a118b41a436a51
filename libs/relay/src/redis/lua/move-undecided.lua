--- Moves undecided sends from the finished set, where earlier builds stored them, to the undecided set.
-- Undecided sends are accepted and unknown sends. Sends that changed since they were read are left unchanged.
-- @key finished     Sorted set of finished sends by when they finished.
-- @key undecided    Sorted set of undecided sends by when they became undecided.
-- @arg send_prefix  Prefix of the keys of sends, in the slot of the keys.
-- @args sends       Pairs of an id and a revision.
-- @reply            1.

for i = sends_from, #ARGV, 2 do
  local at = redis.call('ZSCORE', finished, ARGV[i])
  if at and redis.call('HGET', send_prefix .. ARGV[i], 'revision') == ARGV[i + 1] then
    redis.call('ZREM', finished, ARGV[i])
    redis.call('ZADD', undecided, 'NX', at, ARGV[i])
  end
end
return 1
