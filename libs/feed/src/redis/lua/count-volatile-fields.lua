--- Counts contacts whose messages have a volatile field; a count never drops below zero.
-- @key volatile    Hash from a field to its number of contacts.
-- @args changes    Pairs of a field and 1 or -1.
-- @reply           1.

for i = changes_from, #ARGV, 2 do
  if redis.call('HINCRBY', volatile, ARGV[i], ARGV[i + 1]) <= 0 then redis.call('HDEL', volatile, ARGV[i]) end
end
return 1
