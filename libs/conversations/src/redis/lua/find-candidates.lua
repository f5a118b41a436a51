--- Finds the rows that may match a search, the latest first.
-- If few rows have the rarest word, these are the candidates. Otherwise the latest rows of all are.
-- @key row_order   Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_words   Sorted set of search words, each followed by a zero byte and the id of a row.
-- @arg max_indexed     Maximum number of rows with the rarest word.
-- @arg max_candidates  Maximum number of candidates.
-- @args words      Beginnings of search words, of which the rarest is used; alternatives of one are joined by spaces.
-- @reply           Pairs of an id and the last activity in ms; first 'indexed' or 'latest'.

local function range_of(word) return '[' .. word, '[' .. word .. '\255' end

local rarest, least
for i = words_from, #ARGV do
  local count = 0
  for word in string.gmatch(ARGV[i], '%S+') do count = count + redis.call('ZLEXCOUNT', row_words, range_of(word)) end
  if not least or count < least then rarest, least = ARGV[i], count end
end
local reply = {'indexed'}
if least > tonumber(max_indexed) then
  reply[1] = 'latest'
  for _, part in ipairs(redis.call('ZREVRANGE', row_order, 0, max_candidates - 1, 'WITHSCORES')) do
    reply[#reply + 1] = part
  end
  return reply
end
local ids, seen = {}, {}
for word in string.gmatch(rarest, '%S+') do
  local from, to = range_of(word)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', row_words, from, to)) do
    local id = string.match(member, '^[^%z]*%z(.*)$')
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
end
if #ids == 0 then return reply end
local scores = redis.call('ZMSCORE', row_order, unpack(ids))
local found = {}
for i, id in ipairs(ids) do
  if scores[i] then found[#found + 1] = {id, tonumber(scores[i]), scores[i]} end
end
table.sort(found, function(a, b)
  if a[2] ~= b[2] then return a[2] > b[2] end
  return a[1] > b[1]
end)
for i = 1, math.min(#found, tonumber(max_candidates)) do
  reply[#reply + 1] = found[i][1]
  reply[#reply + 1] = found[i][3]
end
return reply
