--- Takes a token from the budget if one is available.
-- @key bucket      Hash of the account's token bucket.
-- @arg rate        Configured budget of the account, in requests per second.
-- @arg kind        Class of the request.
-- @arg unused      Number of unused tokens to return first.
-- @reply           An array.
-- @field wait_ms   0 if the token was taken, else the time until the next attempt in ms.
-- @field shrunk    1 if the budget is reduced below the configured rate, else 0.
--- @include "includes/token-bucket.lua"

local wait, shrunk = take_token(bucket, tonumber(rate), kind, tonumber(unused), false)
return {wait, shrunk}
