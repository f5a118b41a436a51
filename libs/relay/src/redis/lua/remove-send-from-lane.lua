--- Removes a send from its lane.
-- @key lane         List of the sends in the recipient's lane.
-- @key lanes_due    Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since  Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths  Sorted set of recipients by the number of sends in their lane.
-- @arg id           The send's id.
-- @arg recipient    Phone number of the recipient.
-- @reply            1.
--- @include "includes/send-lanes.lua"

leave_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now_ms())
return 1
