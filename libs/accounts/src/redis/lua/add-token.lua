--- Stores a token until it expires, unless its API key has too many tokens.
-- @key token       Hash of the token.
-- @key own_tokens  Sorted set of the ids of the API key's tokens, by the time when each expires.
-- @arg id          The token's id.
-- @arg record      The token as JSON.
-- @arg key_id      Id of the API key.
-- @arg lifetime    Lifetime in ms.
-- @arg latest_end  Time after which the token must not be valid, in ms, or ''.
-- @arg max_tokens  Maximum number of tokens of the API key.
-- @reply           When the token expires, in ms; or 'full'.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()
local ends = now + tonumber(lifetime)
if latest_end ~= '' then ends = math.min(ends, tonumber(latest_end)) end
if redis.call('ZCOUNT', own_tokens, '(' .. whole(now), '+inf') >= tonumber(max_tokens) then return 'full' end
-- The first write must fail while Redis is full, so that the script then writes nothing.
redis.call('HSET', token, 'token', record, 'keyId', key_id, 'expiresAt', whole(ends))
redis.call('PEXPIREAT', token, whole(ends))
redis.call('ZREMRANGEBYSCORE', own_tokens, '-inf', whole(now))
redis.call('ZADD', own_tokens, whole(ends), id)
local last = redis.call('ZRANGE', own_tokens, -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', own_tokens, whole(tonumber(last[2] or ends)))
return whole(ends)
