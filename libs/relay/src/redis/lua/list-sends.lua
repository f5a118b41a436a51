--- Lists the sends that are in all of the given sets, the newest first.
-- The script scans the smallest set.
-- @keys sets         Sorted sets of sends by the order of their acceptance.
-- @arg before        Number in that order before which the page begins, or ''.
-- @arg limit         Maximum number of sends on the page.
-- @arg max_examined  Maximum number of sends to examine.
-- @arg max_size      Maximum size of the sends on the page, as stored, in bytes, or ''. One send may be larger.
-- @arg send_prefix   Prefix of the Redis keys of sends.
-- @reply             An array.
-- @field next        Number before which the next page begins, or '' at the end.
-- @fields entries    Id and number of each send.

local smallest, size = 1, -1
for i = sets_from, #KEYS do
  local count = redis.call('ZCARD', KEYS[i])
  if size < 0 or count < size then smallest, size = i, count end
end
local function matches(id)
  for i = sets_from, #KEYS do
    if i ~= smallest and not redis.call('ZSCORE', KEYS[i], id) then return false end
  end
  return true
end
local function size_of(id)
  local send = send_prefix .. id
  return redis.call('HSTRLEN', send, 'order') + redis.call('HSTRLEN', send, 'state')
end
local max = before == '' and '+inf' or '(' .. before
local reply, found, bytes, examined, last = {''}, 0, 0, 0, ''
while examined < tonumber(max_examined) do
  local batch = redis.call('ZREVRANGEBYSCORE', KEYS[smallest], max, '-inf', 'WITHSCORES', 'LIMIT', 0, 200)
  if #batch == 0 then return reply end
  for i = 1, #batch, 2 do
    if matches(batch[i]) then
      if max_size ~= '' then bytes = bytes + size_of(batch[i]) end
      if found == tonumber(limit) or (found > 0 and max_size ~= '' and bytes > tonumber(max_size)) then
        reply[1] = last
        return reply
      end
      found = found + 1
      reply[#reply + 1], reply[#reply + 2] = batch[i], batch[i + 1]
    end
    last = batch[i + 1]
  end
  examined = examined + #batch / 2
  max = '(' .. last
end
reply[1] = last
return reply
