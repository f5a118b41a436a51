--- Records when API keys were last used, except those of keys that were removed meanwhile.
-- @key uses      Hash of the time of each API key's last use, in ms, by the key's id.
-- @key api_keys  Hash of the API keys by id, as JSON.
-- @arg fixed     Id of the API key that the environment defines, which is not stored in Redis.
-- @args used     Id of a key, the time of its last use in ms, id of the next key, and so on.
-- @reply         1.

local function exists(id) return id == fixed or redis.call('HEXISTS', api_keys, id) == 1 end

for i = used_from, #ARGV, 2 do
  local id, at = ARGV[i], ARGV[i + 1]
  if exists(id) and tonumber(at) > tonumber(redis.call('HGET', uses, id) or 0) then
    redis.call('HSET', uses, id, at)
  end
end
-- Gateways of earlier builds remove API keys, but not the records of their uses.
if redis.call('HLEN', uses) > redis.call('HLEN', api_keys) + 1 then
  for _, id in ipairs(redis.call('HKEYS', uses)) do
    if not exists(id) then redis.call('HDEL', uses, id) end
  end
end
return 1
