--- Takes tokens from an account's request budget, in the same atomic step as the change that needs them.
--
--     take_token(bucket, rate, kind, unused, heads_wait) -> wait in ms (0: taken), shrunk (0 or 1)
--
-- A script that takes several tokens reads and writes the bucket once:
--
--     local b = token_bucket(bucket, rate)
--     take_from(b, kind, unused, heads_wait) -> wait in ms (0: taken)
--     note_waiting(b, kind) -- records a waiting request, as if it had got no token
--     put_token_bucket(bucket, b)
--     available_for_polls(b) -> available
--
-- `bucket` is the account's key `budget`. `kind` is a class of requests. `unused` is the number of tokens to return
-- first. `heads_wait` is true if polls wait for the tokens of their first requests, although no note records this.
-- `available` is the rate available to polls, in requests per second.
--
-- **The bucket.** The bucket refills by Redis' clock. A second, smaller bucket (`floor`) refills a fifth as fast: the
-- minimum that polls get.
--
-- **Upstream's limit.** Upstream receives a request some time after its token was granted, and this
-- time varies. Let J be the largest difference. In t seconds upstream receives at most the requests whose tokens were
-- granted in t + J seconds. A request is written at most `BUDGET_TOKEN_TTL_MS` (100 ms, request-budget.ts) after its
-- token was requested. The other 100 ms of J = 0.2 s cover differences of the network's latency.
--
-- A bucket of capacity C that refills every g seconds grants at most C + (t + J) / g in t + J seconds. This must not
-- exceed rate * t + max(rate, 1) for any t:
--
-- - rate >= 1 / (1 - J) = 1.25: C = rate * (1 - J), g = 1 / rate. Then C + rate * (t + J) = rate * t + rate.
-- - rate <= 1: C = 1. Any two requests have to arrive 1 / rate apart: g = 1 / rate + J.
-- - between: C = 1. k + 1 grants take k * g seconds, and may arrive in k * g - J. With rate * t + rate >= k + 1 that
--   must be at least k / rate + 1 / rate - 1. k = 1 is the hardest case: g = 1 / rate + (J + 1 / rate - 1). At the
--   rates 1 and 1.25, this is the g of the two rules above.
--
-- Usable shares: five sixths of a rate of 1 per second, 96 % of a rate of 0.2, and all of a rate from 1.25 on. A
-- returned token leaves the bucket no fuller than if the token had never been taken.
--
-- **Priorities.** A class that gets no token writes a note: the time until which it counts as waiting. While a higher
-- class waits, a lower class gets no token, unless tokens accumulate: then no class waits. Polls keep their floor even
-- if sends and reads wait. If a poll with a token of its floor waits, the other classes leave one token for it. Sends
-- and reads try again after their wait, so their notes outlive the wait. Polls do so, too, but at least every 1.5 s
-- (`MAX_POLL_TOKEN_RETRY_PAUSE_MS`, request-budget.ts). If a poll gets no token only because another class has
-- priority, it tries again after at most 250 ms, because that class may stop waiting.
--
-- Reads of older messages have a lower priority than other polls and take only what a nearly full bucket cannot hold,
-- so that the next polls find their tokens. Each token of other polls adds a part of a token (`deepShare`) to the
-- `credit` of reads of older messages, up to ten tokens. The script that claims polls sets `deepShare` according to
-- the delay of the reads of older messages.
--
-- `all` and `other` are sums of granted tokens at the time `averagedAt`, with a half-life of ten seconds.
--
-- `limit` is the budget after a 429 of upstream reduced it below the rate.

local TOKEN_JITTER, TOKEN_HALF_LIFE_MS, TOKEN_DEEP_SHARE = 0.2, 10000, 0.01
-- Durations of notes, in ms: the minimum, and the maximum of a poll's note.
local TOKEN_NOTE_MS, MAX_POLL_NOTE_MS = 500, 3000
-- Maximum wait of a poll that has to yield, in ms.
local MAX_YIELD_MS = 250

local function token_bucket(bucket, rate)
  local time = redis.call('TIME')
  local state = redis.call('HMGET', bucket, 'tokens', 'floor', 'at', 'limit', 'credit', 'all', 'other', 'averagedAt',
    'deepShare', 'send', 'read', 'poll', 'more', 'deep')
  local b = {now = time[1] * 1000 + time[2] / 1000, shrunk = state[4] and 1 or 0}
  b.notes = {send = state[10], read = state[11], poll = state[12], more = state[13], deep = state[14]}
  -- The changed fields, without those that are written at each call.
  b.changed = {}
  -- If Redis' clock was set back, requests would count as waiting until the old time.
  if tonumber(state[3] or 0) > b.now then
    for kind in pairs(b.notes) do b.notes[kind], b.changed[kind] = '0', '0' end
  end
  b.rate = math.min(rate, tonumber(state[4] or rate))
  b.gap = 1 / b.rate + math.max(0, TOKEN_JITTER + math.min(1 / b.rate - 1, 0))
  b.capacity, b.floor_capacity = math.max(b.rate * (1 - TOKEN_JITTER), 1), math.max(b.rate / 5, 1)
  local since = math.max(b.now - tonumber(state[3] or b.now), 0) / 1000
  b.tokens = math.min(b.capacity, tonumber(state[1] or b.capacity) + since / b.gap)
  b.floor = math.min(b.floor_capacity, tonumber(state[2] or b.floor_capacity) + since / b.gap / 5)
  b.credit, b.deep_share = tonumber(state[5] or 0), tonumber(state[9] or TOKEN_DEEP_SHARE)
  local faded = 0.5 ^ (math.max(b.now - tonumber(state[8] or b.now), 0) / TOKEN_HALF_LIFE_MS)
  -- Limited to the present rate: use under a higher rate does not predict the use under this rate.
  local at_rate = TOKEN_HALF_LIFE_MS / 1000 / math.log(2) / b.gap
  b.all, b.other = tonumber(state[6] or 0) * faded, math.min(tonumber(state[7] or 0), at_rate) * faded
  return b
end

local function tokens_per_second(sum) return sum * math.log(2) / (TOKEN_HALF_LIFE_MS / 1000) end

local function available_for_polls(b)
  return math.max(1 / b.gap / 5, 1 / b.gap - tokens_per_second(b.other))
end

local function return_tokens(b, count, is_poll)
  b.tokens = math.min(b.capacity, b.tokens + count)
  if is_poll then b.floor = math.min(b.floor_capacity, b.floor + count) end
  b.all = math.max(b.all - count, 0)
end

local function put_token_bucket(bucket, b)
  local function put(number) return string.format('%.6f', number) end
  local now = string.format('%.3f', b.now)
  local fields = {'tokens', put(b.tokens), 'floor', put(b.floor), 'at', now, 'credit', put(b.credit), 'all', put(b.all),
    'other', put(b.other), 'averagedAt', now}
  for field, value in pairs(b.changed) do fields[#fields + 1], fields[#fields + 2] = field, value end
  redis.call('HSET', bucket, unpack(fields))
  -- The key expires only after the bucket is full, because a missing bucket counts as full.
  redis.call('PEXPIRE', bucket, math.max(60000, math.ceil(2000 * b.gap)))
end

local function write_note(b, kind, until_ms)
  b.notes[kind] = string.format('%.3f', until_ms)
  b.changed[kind] = b.notes[kind]
end

local function note_waiting(b, kind) write_note(b, kind, b.now + TOKEN_NOTE_MS) end

local function take_from(b, kind, unused, heads_wait)
  local notes = b.notes
  local function waits(class) return tonumber(notes[class] or 0) > b.now end
  local is_poll = kind ~= 'send' and kind ~= 'read'
  return_tokens(b, unused, is_poll)

  local walks_wait, deep_waits = waits('poll') or waits('more') or heads_wait, waits('deep')
  local reserve = (not is_poll and (walks_wait or deep_waits) and b.floor >= 1) and 1 or 0
  local yields_for = 0
  -- Polls come in bursts, and the next burst may need every token that the bucket can hold. The tokens that arrive
  -- within 50 ms must fit in as well. Otherwise, they would be lost before the next attempt.
  local enough_for_all = kind == 'deep' and b.capacity - b.rate / 20 or 1 + b.rate / 4
  if b.tokens < enough_for_all then
    if kind == 'read' and waits('send') then yields_for = 1 end
    if is_poll and b.floor < 1 and (waits('send') or waits('read')) then yields_for = 5 * (1 - b.floor)
    elseif kind == 'deep' and b.credit < 1 then
      yields_for = walks_wait and 1 or enough_for_all - b.tokens
    elseif kind == 'poll' and (waits('more') or (deep_waits and b.credit >= 1)) then yields_for = 1
    elseif kind == 'more' and deep_waits and b.credit >= 1 then yields_for = 1 end
  end

  local wait = 0
  if b.tokens >= 1 + reserve and yields_for == 0 then
    b.tokens = b.tokens - 1
    b.all = b.all + 1
    if kind == 'deep' and walks_wait then b.credit = math.max(b.credit - 1, 0) end
    if kind == 'poll' or kind == 'more' then b.credit = math.min(b.credit + b.deep_share, 10) end
    if kind ~= 'poll' and (kind ~= 'deep' or walks_wait) then b.other = b.other + 1 end
    if is_poll then
      b.floor = math.max(b.floor - 1, 0)
      -- Other waiting requests of this class soon write the note again.
      write_note(b, kind, 0)
    elseif waits(kind) then
      write_note(b, kind, math.min(notes[kind], b.now + TOKEN_NOTE_MS))
    end
  else
    local yield = yields_for * b.gap * 1000
    if is_poll then yield = math.min(yield, MAX_YIELD_MS) end
    wait = math.max(math.ceil(math.max((1 + reserve - b.tokens) * b.gap * 1000, yield)), 1)
    local note = math.max(2 * wait, TOKEN_NOTE_MS)
    write_note(b, kind, b.now + (is_poll and math.min(note, MAX_POLL_NOTE_MS) or note))
  end
  return wait
end

local function take_token(bucket, rate, kind, unused, heads_wait)
  local b = token_bucket(bucket, rate)
  local wait = take_from(b, kind, unused, heads_wait)
  put_token_bucket(bucket, b)
  return wait, b.shrunk
end
