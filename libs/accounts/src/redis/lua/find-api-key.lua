--- Reads an API key together with the current time.
-- @key api_keys    Hash of the API keys by id, as JSON.
-- @arg id          The key's id.
-- @reply           An array, or nil if the key was not found.
-- @field api_key   The key as JSON.
-- @field now       The time in ms.
--- @include "@platform/redis/lua/includes/now.lua"

local api_key = redis.call('HGET', api_keys, id)
if not api_key then return false end
return {api_key, now_ms()}
