--- Takes a token of the budget.
-- @key bucket     Hash of the account's token bucket.
-- @arg rate       Requests a second that the account is set to.
-- @arg kind       Class of the request.
-- @arg unused     Number of tokens that go back first.
-- @reply          An array.
-- @field wait_ms  0 if the token was taken, else after how many ms to ask again.
-- @field shrunk   1 if the budget is below the rate that the account is set to, else 0.
--- @include "includes/token-bucket.lua"

local wait, shrunk = take_token(bucket, tonumber(rate), kind, tonumber(unused), false)
return {wait, shrunk}
