--- Says how the budget is used.
-- @key bucket     Hash of the account's token bucket.
-- @arg rate       Requests a second that the account is set to.
-- @reply          An array of numbers as text, in requests a second.
-- @field allowed  What the bucket grants.
-- @field used     What was used lately.
-- @field used_by_others       What was used for other purposes than polls.
-- @field available_for_polls  What polls can count on.
--- @include "includes/token-bucket.lua"

local b = token_bucket(bucket, tonumber(rate))
return {tostring(1 / b.gap), tostring(tokens_per_second(b.all)), tostring(tokens_per_second(b.other)),
  tostring(available_for_polls(b))}
