--- Computes the wait before a probe.
-- @constant FIRST_PROBE_MS  Time until the first probe, in ms.

-- Maximum wait in ms. Each wait is twice as long as the one before.
local MAX_PROBE_MS = 30000

-- Returns the wait after this number of probes, in ms.
local function wait_before_probe(probes) return math.min(FIRST_PROBE_MS * 2 ^ math.min(probes, 20), MAX_PROBE_MS) end
