import { accountKeys, type AccountKeys, newId, type RedisClient, RedisScript } from '#platform';
import { TAKE_TOKEN } from '#upstream';
import {
  type ClaimedPoll,
  type ClaimReply,
  FAILED_BACKOFF_MS,
  LATER_MS,
  POLL_LEASE_MS,
  type PollKind,
  type EndedClaim,
  type NextDue,
  type PollQueue,
  type ReadEnd,
} from '../poll/poll-queue.js';

/** So many contacts that a dead worker had get their places back with one claim. */
const MAX_TAKEN_BACK = 20;

/**
 * The keys: `polls:due` and `polls:deep`, sorted sets of contacts by when they are due; `polls:leases`, a hash from
 * `head:<id>` or `deep:<id>` to the lease, its end, and when the contact was due; and `polls:leased`, the same members by
 * the ends of their leases.
 *
 * A claim moves the contact's due time to the end of its lease, and a renewal moves it on, but only from there: whatever
 * a commit or a hint set meanwhile stands. A lease that nobody ended gives the contact its former place back: it does not
 * wait behind those that became due while a dead worker had it. A contact that becomes due while it is read is met by the
 * next claim, which puts it off to the end of the lease; the hint is not lost, for a contact's record keeps it for the
 * commit.
 */
const LEASES = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function put_lease(leases, leased, member, lease, ends, was_due)
  redis.call('HSET', leases, member, lease .. ' ' .. string.format('%d %d', ends, was_due or ends))
  redis.call('ZADD', leased, string.format('%d', ends), member)
  -- What a killed worker leaves of contacts that are gone by now goes with the whole.
  redis.call('PEXPIRE', leases, 3600000)
  redis.call('PEXPIRE', leased, 3600000)
end
local function lease_of(leases, member)
  local lease, ends, was_due = string.match(redis.call('HGET', leases, member) or '', '^(%S+) (%d+) ?(%d*)$')
  return lease, tonumber(ends), tonumber(was_due)
end
-- The reply, with the time at which the next contact is due, and in how many ms that is.
local function with_next_due(reply, sets)
  local next_due
  for _, set in pairs(sets) do
    local at = tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
    if at and (not next_due or at < next_due) then next_due = at end
  end
  if next_due then
    reply[#reply + 1] = string.format('%d', next_due)
    reply[#reply + 1] = string.format('%d', math.max(next_due - now, 0))
  end
  return reply
end
`;

/**
 * KEYS: budget, due, deep, leases, leased. ARGV: rate, lease in ms, lease, what the keys of contacts' records begin with (they are
 * of the same slot). Answers
 * `claimed`, kind, contact id, late by ms, failures in a row, available for polls, next due at, in ms; `wait`, ms; or `idle`,
 * next due at, in ms.
 */
const claim = new RedisScript(`${TAKE_TOKEN}${LEASES}
local SETS, FAILED = {head = KEYS[2], deep = KEYS[3]}, {head = 'failed', deep = 'failedDeep'}
local budget, leases, leased = KEYS[1], KEYS[4], KEYS[5]
for _, member in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, ${MAX_TAKEN_BACK})) do
  local kind, id = string.match(member, '^(%a+):(.*)$')
  local _, ends, was_due = lease_of(leases, member)
  if was_due and tonumber(redis.call('ZSCORE', SETS[kind], id)) == ends then
    redis.call('ZADD', SETS[kind], 'XX', string.format('%d', was_due), id)
  end
  redis.call('ZREM', leased, member)
end
local function first_due(kind)
  while true do
    local id, at = unpack(redis.call('ZRANGE', SETS[kind], '-inf', now, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
    if not id then return nil end
    local _, ends = lease_of(leases, kind .. ':' .. id)
    if not ends or ends <= now then return id, tonumber(at) end
    redis.call('ZADD', SETS[kind], 'XX', string.format('%d', ends), id)
  end
end
local head, head_at = first_due('head')
local deep, deep_at = first_due('deep')
if not head and not deep then return with_next_due({'idle'}, SETS) end
-- The later the deep reads are, the larger is their share of what polls get: from a hundredth up to a fifth after an hour.
if deep then
  local share = string.format('%.3f', 0.01 + 0.19 * math.min((now - deep_at) / 3600000, 1))
  if redis.call('HGET', budget, 'deepShare') ~= share then redis.call('HSET', budget, 'deepShare', share) end
end
local kind, id, at = 'head', head, head_at
if not head or (deep and tonumber(redis.call('HGET', budget, 'credit') or 0) >= 1) then
  kind, id, at = 'deep', deep, deep_at
end
local wait, _, available = take_token(budget, tonumber(ARGV[1]), kind == 'head' and 'poll' or 'deep', 0, head ~= nil)
if wait > 0 then return {'wait', wait} end
local ends = now + tonumber(ARGV[2])
put_lease(leases, leased, kind .. ':' .. id, ARGV[3], ends, at)
redis.call('ZADD', SETS[kind], 'XX', string.format('%d', ends), id)
-- The next one waits from now on, not only from when it is asked for: else a deep read would slip in between.
if kind == 'head' and first_due('head') then note_waiting(budget, 'poll') end
return with_next_due({'claimed', kind, id, string.format('%d', now - at),
  redis.call('HGET', ARGV[4] .. id, FAILED[kind]) or '0', tostring(available)}, SETS)
`);

/** KEYS: due, deep, leases, leased. ARGV: lease in ms, (kind, contact id, lease)…. Answers the places of those that are lost. */
const renew = new RedisScript(`${LEASES}
local SETS = {head = KEYS[1], deep = KEYS[2]}
local lost, ends = {}, now + tonumber(ARGV[1])
for i = 2, #ARGV, 3 do
  local set, id, member = SETS[ARGV[i]], ARGV[i + 1], ARGV[i] .. ':' .. ARGV[i + 1]
  local holder, old, was_due = lease_of(KEYS[3], member)
  -- One that ended, or was lost with Redis' last seconds, is ours still where nobody has taken it since.
  if holder and holder ~= ARGV[i + 2] then lost[#lost + 1] = (i - 2) / 3
  else
    put_lease(KEYS[3], KEYS[4], member, ARGV[i + 2], ends, was_due)
    if old and tonumber(redis.call('ZSCORE', set, id)) == old then
      redis.call('ZADD', set, 'XX', string.format('%d', ends), id)
    end
  end
end
return lost
`);

/**
 * KEYS: due, deep, leases, leased, contact. ARGV: kind, contact id, lease, how it ended, first and greatest wait after a failure,
 * wait until later. Answers when it is due again, in ms, or -1 where that was not changed; and the account's next due at, in ms.
 */
const endClaim = new RedisScript(`${LEASES}
local SETS, leases, leased, contact = {head = KEYS[1], deep = KEYS[2]}, KEYS[3], KEYS[4], KEYS[5]
local kind, id, how = ARGV[1], ARGV[2], ARGV[4]
local due = SETS[kind]
local field = kind == 'head' and 'failed' or 'failedDeep'
local holder, old = lease_of(leases, kind .. ':' .. id)
if holder and holder ~= ARGV[3] then return with_next_due({-1}, SETS) end
redis.call('HDEL', leases, kind .. ':' .. id)
redis.call('ZREM', leased, kind .. ':' .. id)
local function due_in(ms)
  redis.call('ZADD', due, 'XX', string.format('%d', now + ms), id)
  return with_next_due({ms}, SETS)
end
if how == 'done' then
  redis.call('HDEL', contact, field)
  -- A deep read that nobody scheduled anew is over; a head always is.
  if kind == 'deep' and old and tonumber(redis.call('ZSCORE', due, id)) == old then redis.call('ZREM', due, id) end
  return with_next_due({-1}, SETS)
end
if how == 'failed' then
  -- A contact without a record is not given one by this.
  local failed = redis.call('EXISTS', contact) == 1 and redis.call('HINCRBY', contact, field, 1) or 1
  return due_in(math.min(tonumber(ARGV[5]) * 2 ^ math.min(failed - 1, 20), tonumber(ARGV[6])))
end
-- Only where nothing else was said meanwhile.
if old and tonumber(redis.call('ZSCORE', due, id)) ~= old then return with_next_due({-1}, SETS) end
return due_in(how == 'later' and tonumber(ARGV[7]) or 0)
`);

/** {@link PollQueue} on Redis. */
export class RedisPollQueue implements PollQueue {
  /** Of this process; with a count it makes a lease that nobody else has. */
  private readonly holder = newId('req');
  private claims = 0;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = POLL_LEASE_MS,
  ) {}

  async claim(account: string, rate: number): Promise<ClaimReply> {
    const keys = this.keys(account);
    this.claims += 1;
    const lease = `${this.holder}.${this.claims}`;
    const tokenAskedAt = performance.now();
    const [outcome, ...rest] = (await claim.run(
      this.redis,
      [keys('budget'), ...this.sets(account), keys('polls', 'leases'), keys('polls', 'leased')],
      [rate, this.leaseMs, lease, keys('c', '')],
    )) as string[];
    if (outcome === 'wait') return { waitMs: Number(rest[0]) };
    if (outcome === 'idle') return nextDueOf(rest);
    const [kind, contactId = '', lateMs, failed, available, ...nextDue] = rest;
    return {
      ...nextDueOf(nextDue),
      claimed: {
        kind: kind === 'deep' ? 'deep' : 'head',
        contactId,
        lateMs: Number(lateMs),
        failed: Number(failed),
        lease,
      },
      tokenAskedAt,
      availableForPolls: Number(available),
    };
  }

  async renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    if (claims.length === 0) return [];
    const keys = this.keys(account);
    const lost = (await renew.run(
      this.redis,
      [...this.sets(account), keys('polls', 'leases'), keys('polls', 'leased')],
      [this.leaseMs, ...claims.flatMap(({ kind, contactId, lease }) => [kind, contactId, lease])],
    )) as number[];
    return lost.flatMap((place) => claims[place] ?? []);
  }

  async end(account: string, { kind, contactId, lease }: ClaimedPoll, how: ReadEnd): Promise<EndedClaim> {
    const keys = this.keys(account);
    const [dueInMs, ...nextDue] = (await endClaim.run(
      this.redis,
      [...this.sets(account), keys('polls', 'leases'), keys('polls', 'leased'), keys('c', contactId)],
      [kind, contactId, lease, how, FAILED_BACKOFF_MS.first, FAILED_BACKOFF_MS.max, LATER_MS],
    )) as [number, ...string[]];
    return { ...nextDueOf(nextDue), ...(dueInMs < 0 ? {} : { dueAgainInMs: dueInMs }) };
  }

  private sets(account: string): [due: string, deep: string] {
    return [this.setOf(account, 'head'), this.setOf(account, 'deep')];
  }

  private setOf(account: string, kind: PollKind): string {
    return this.keys(account)('polls', kind === 'head' ? 'due' : 'deep');
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

function nextDueOf([at, inMs]: readonly string[]): NextDue {
  return at === undefined || inMs === undefined ? {} : { nextDueAt: Number(at), nextDueInMs: Number(inMs) };
}
