--- Returns unused tokens of polls to the bucket.
-- @key bucket      Hash of the account's token bucket.
-- @arg rate        Configured budget of the account, in requests per second.
-- @arg count       Number of tokens.
-- @reply           Nothing.
--- @include "includes/token-bucket.lua"

local b = token_bucket(bucket, tonumber(rate))
return_tokens(b, tonumber(count), true)
put_token_bucket(bucket, b)
