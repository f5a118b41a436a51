--- Reads the usage of the budget.
-- @key bucket                 Hash of the account's token bucket.
-- @arg rate                   Configured budget of the account, in requests per second.
-- @reply                      An array of numbers as text, in requests per second.
-- @field allowed              Rate that the bucket grants.
-- @field used                 Rate of recent use.
-- @field used_by_others       Rate of recent use that leaves fewer tokens for the first requests of polls.
-- @field available_for_polls  Requests per second available to polls.
--- @include "includes/token-bucket.lua"

local b = token_bucket(bucket, tonumber(rate))
return {tostring(1 / b.gap), tostring(tokens_per_second(b.all)), tostring(tokens_per_second(b.other)),
  tostring(available_for_polls(b))}
