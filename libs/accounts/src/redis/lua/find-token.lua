--- Reads a token together with its API key and the current time.
-- @key token         Hash of the token.
-- @key api_keys      Hash of the API keys by id, as JSON.
-- @reply             An array, or nil if the token was not found.
-- @field record      The token as JSON.
-- @field expires_at  When the token expires, in ms.
-- @field api_key     The API key as JSON, or '' if it is not stored.
-- @field now         The time in ms.
--- @include "@platform/redis/lua/includes/now.lua"

local found = redis.call('HMGET', token, 'token', 'keyId', 'expiresAt')
if not found[1] then return false end
return {found[1], found[3], redis.call('HGET', api_keys, found[2]) or '', now_ms()}
