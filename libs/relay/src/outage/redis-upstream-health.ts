import { APPEND_EVENTS, eventArguments, type EventTypeOf, logKeys } from '#events';
import { accountKeys, type AccountKeys, type RedisClient, RedisScript, redisTime } from '#platform';
import { type Outage, OUTAGE_KINDS, type OutageKind, type ProbeTurn, type UpstreamHealth } from '#upstream';

/** Between two probes, in milliseconds: doubled each time, within these bounds. */
const FIRST_PROBE_MS = 500;
const LONGEST_PROBE_MS = 30_000;
/** For so long after an outage it is seen to that nothing waits for its end any more. */
const RECOVERING_MS = 2_000;

const NOW = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(ms) return string.format('%d', ms) end
`;

/** KEYS: log ×3, upstream. ARGV: since, kind, reason, then the event. Answers whether it is news. */
const begin = new RedisScript(`${APPEND_EVENTS}${NOW}
local upstream = KEYS[4]
redis.call('HSET', upstream, 'reason', ARGV[3])
if redis.call('HSETNX', upstream, 'unavailableSince', ARGV[1]) == 0 then
  if ARGV[2] ~= 'away' then redis.call('HSET', upstream, 'kind', ARGV[2]) end
  return 0
end
redis.call('HSET', upstream, 'kind', ARGV[2], 'probes', 0, 'probeAt', text(now_ms() + ${FIRST_PROBE_MS}))
redis.call('HDEL', upstream, 'recoveredAt')
redis.call('PERSIST', upstream)
append_events(4)
return 1
`);

/** KEYS: log ×3, upstream. ARGV: since, then the event. Answers whether that outage lasted until now. */
const end = new RedisScript(`${APPEND_EVENTS}${NOW}
local upstream = KEYS[4]
if redis.call('HGET', upstream, 'unavailableSince') ~= ARGV[1] then return 0 end
redis.call('DEL', upstream)
redis.call('HSET', upstream, 'recoveredAt', text(now_ms()))
redis.call('PEXPIRE', upstream, ${RECOVERING_MS})
append_events(2)
return 1
`);

/** KEYS: upstream. ARGV: lease in ms. */
const takeTurn = new RedisScript(`${NOW}
local upstream, now = KEYS[1], now_ms()
local state = redis.call('HMGET', upstream, 'unavailableSince', 'probeAt', 'recoveredAt')
if not state[1] then return state[3] and 'recovered' or 'nothing' end
if tonumber(state[2] or 0) > now then return 'nothing' end
redis.call('HSET', upstream, 'probeAt', text(now + ARGV[1]))
return 'probe'
`);

/** KEYS: upstream. Answers in how many ms there may be something to do: 0 while an outage has just ended; '' without one. */
const nextTurn = new RedisScript(`${NOW}
local state = redis.call('HMGET', KEYS[1], 'unavailableSince', 'probeAt', 'recoveredAt')
if state[1] then return text(math.max((state[2] or 0) - now_ms(), 0)) end
return state[3] and '0' or ''
`);

/** KEYS: upstream. ARGV: kind, reason. */
const putOff = new RedisScript(`${NOW}
local upstream = KEYS[1]
if redis.call('HEXISTS', upstream, 'unavailableSince') == 0 then return 0 end
local probes = redis.call('HINCRBY', upstream, 'probes', 1)
local wait = math.min(${FIRST_PROBE_MS} * 2 ^ math.min(probes, 20), ${LONGEST_PROBE_MS})
redis.call('HSET', upstream, 'kind', ARGV[1], 'reason', ARGV[2], 'probeAt', text(now_ms() + wait))
return 1
`);

/** {@link UpstreamHealth} as the account's hash `upstream`. An outage is known by its beginning. */
export class RedisUpstreamHealth implements UpstreamHealth {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async outage(account: string): Promise<Outage | undefined> {
    const key = this.keys(account)('upstream');
    const [since, reason, kind] = await this.redis.hmget(key, 'unavailableSince', 'reason', 'kind');
    if (since == null) return undefined;
    const known = OUTAGE_KINDS.find((one) => one === kind) ?? 'away';
    return { since: Number(since), reason: reason ?? '', kind: known };
  }

  async down(account: string, kind: OutageKind, reason: string): Promise<boolean> {
    const keys = this.keys(account);
    const since = await redisTime(this.redis, keys('upstream'));
    return (
      1 ===
      (await begin.run(
        this.redis,
        [...logKeys(keys), keys('upstream')],
        [since, kind, reason, ...told('upstream.unavailable', account, { since, reason, kind })],
      ))
    );
  }

  async well(account: string, outage: Outage): Promise<boolean> {
    const keys = this.keys(account);
    return (
      1 ===
      (await end.run(
        this.redis,
        [...logKeys(keys), keys('upstream')],
        [outage.since, ...told('upstream.recovered', account, outage)],
      ))
    );
  }

  async forbidden(account: string): Promise<number> {
    return this.redis.hincrby(this.keys(account)('upstream'), 'forbidden', 1);
  }

  async notForbidden(account: string): Promise<void> {
    await this.redis.hdel(this.keys(account)('upstream'), 'forbidden');
  }

  async takeTurn(account: string, leaseMs: number): Promise<ProbeTurn> {
    const turn = await takeTurn.run(this.redis, [this.keys(account)('upstream')], [leaseMs]);
    return turn === 'probe' || turn === 'recovered' ? turn : 'nothing';
  }

  /** In how many milliseconds it may be somebody's turn, if there is an outage or one has just ended. */
  async nextTurnInMs(account: string): Promise<number | undefined> {
    const reply = await nextTurn.run(this.redis, [this.keys(account)('upstream')], []);
    return reply === '' ? undefined : Number(reply);
  }

  async probeFailed(account: string, kind: OutageKind, reason: string): Promise<void> {
    await putOff.run(this.redis, [this.keys(account)('upstream')], [kind, reason]);
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

/** Two outages never begin in the same millisecond: between them lies at least a probe. */
function told(
  type: EventTypeOf<'upstream'>,
  account: string,
  { since, reason }: Outage,
): (string | number)[] {
  const data = { since: new Date(since).toISOString(), reason };
  return eventArguments(account, [{ type, subject: `upstream:${account}`, revision: since, data }]);
}
