--- Puts tokens of polls back that were not used.
-- @key bucket     Hash of the account's token bucket.
-- @arg rate       Requests a second that the account is set to.
-- @arg count      Number of tokens.
-- @reply          Nothing.
--- @include "includes/token-bucket.lua"

local b = token_bucket(bucket, tonumber(rate))
return_tokens(b, tonumber(count), true)
put_token_bucket(bucket, b)
