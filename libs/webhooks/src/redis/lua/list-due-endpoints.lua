--- Lists the endpoints that need work now, the longest overdue first.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @arg first       Number of endpoints to skip.
-- @arg max_count   Maximum number of endpoints.
-- @reply           Ids of the endpoints.
--- @include "includes/deliveries.lua"

adopt_older_agenda()
return redis.call('ZRANGEBYSCORE', AGENDA, '-inf', whole(NOW), 'LIMIT', first, max_count)
