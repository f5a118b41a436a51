import { LRUCache } from 'lru-cache';
import { appendEventsLuaArguments, type EventTypeOf, eventLogRedisKeys } from '#events';
import { accountKeys, type AccountKeys, LuaScript, type RedisClient, readRedisTime } from '#platform';
import {
  type Outage,
  OUTAGE_KINDS,
  type OutageKind,
  type ProbeTurn,
  type UnprobedRequest,
  type UpstreamHealth,
} from '#upstream';

/**
 * Time from the start of an outage to its first probe, in milliseconds. If the outage is a relapse, this time is
 * longer.
 */
const FIRST_PROBE_MS = 500;

/** Maximum number of accounts whose last outage is kept in memory. */
const MAX_SEEN_OUTAGES = 10_000;

const beginOutageScript = LuaScript.from(import.meta.url, 'lua/begin-outage.lua', { FIRST_PROBE_MS });

const endOutageScript = LuaScript.from(import.meta.url, 'lua/end-outage.lua');

const claimTurnScript = LuaScript.from(import.meta.url, 'lua/claim-probe-turn.lua');

const returnTurnScript = LuaScript.from(import.meta.url, 'lua/return-probe-turn.lua');

const nextTurnScript = LuaScript.from(import.meta.url, 'lua/next-probe-turn.lua');

const postponeProbeScript = LuaScript.from(import.meta.url, 'lua/postpone-probe.lua', { FIRST_PROBE_MS });

/** Stores upstream's outages in Redis, one hash per account. An outage is identified by its start time. */
export class RedisUpstreamHealth implements UpstreamHealth {
  /**
   * For each account: when this process last saw an outage that began with an {@link UnprobedRequest}, by
   * `performance.now()`, and what this request was for. A success that shows that the outage is over removes the
   * entry, so only this first success writes to Redis. A process that never saw the outage does not record its
   * successes. As a result, the next outage may count as a relapse, and may then last longer.
   */
  private readonly seen = new LRUCache<string, { at: number; request: UnprobedRequest }>({
    max: MAX_SEEN_OUTAGES,
  });

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async outage(account: string): Promise<Outage | undefined> {
    const key = this.keys(account)('upstream');
    const [since, reason, kind, request] = await this.redis.hmget(
      key,
      ...['unavailableSince', 'reason', 'kind', 'request'],
    );
    if (since == null) return undefined;
    this.see(account, request);
    const known = OUTAGE_KINDS.find((one) => one === kind) ?? 'away';
    return { since: Number(since), reason: reason ?? '', kind: known };
  }

  async recordOutage(
    account: string,
    kind: OutageKind,
    reason: string,
    request?: UnprobedRequest,
  ): Promise<boolean> {
    const keys = this.keys(account);
    const { upstream, relapses } = outageKeys(keys);
    const since = await readRedisTime(this.redis, upstream);
    const begun = await beginOutageScript.run(
      this.redis,
      { upstream, relapses, ...eventLogRedisKeys(keys) },
      {
        ...{ since, kind, reason, request: request ?? '' },
        events: outageEvent('upstream.unavailable', account, { since, reason, kind }),
      },
    );
    this.see(account, request);
    return begun === 1;
  }

  async recordSuccess(account: string, request: UnprobedRequest, beganAt: number): Promise<void> {
    const outage = this.seen.get(account);
    // A request that began before this process last saw the outage says nothing about its end.
    if (outage === undefined || beganAt < outage.at) return;
    if (request !== 'post' && outage.request === 'post') return;
    this.seen.delete(account);
    await this.redis.del(outageKeys(this.keys(account)).relapses);
  }

  async recordRecovery(account: string, outage: Outage): Promise<boolean> {
    const keys = this.keys(account);
    return (
      1 ===
      (await endOutageScript.run(
        this.redis,
        { ...outageKeys(keys), ...eventLogRedisKeys(keys) },
        { since: outage.since, events: outageEvent('upstream.recovered', account, outage) },
      ))
    );
  }

  async countForbidden(account: string): Promise<number> {
    return this.redis.incr(outageKeys(this.keys(account)).forbidden);
  }

  async resetForbidden(account: string): Promise<void> {
    await this.redis.del(outageKeys(this.keys(account)).forbidden);
  }

  async claimProbeTurn(account: string, leaseMs: number): Promise<ProbeTurn> {
    const turn = await claimTurnScript.run(
      this.redis,
      { upstream: this.keys(account)('upstream') },
      { lease: leaseMs },
    );
    return turn === 'probe' || turn === 'recovered' ? turn : 'nothing';
  }

  /**
   * Returns the time until {@link claimProbeTurn} must be called next, in milliseconds. During an outage: the time
   * until the next probe is due. If an outage has just ended: 0, so that the caller learns of the end. Otherwise:
   * undefined.
   */
  async nextTurnInMs(account: string): Promise<number | undefined> {
    const reply = await nextTurnScript.run(this.redis, { upstream: this.keys(account)('upstream') });
    return reply === '' ? undefined : Number(reply);
  }

  async returnProbeTurn(account: string, inMs: number): Promise<void> {
    await returnTurnScript.run(
      this.redis,
      { upstream: this.keys(account)('upstream') },
      { wait: Math.ceil(inMs) },
    );
  }

  async recordFailedProbe(account: string, kind: OutageKind, reason: string): Promise<void> {
    await postponeProbeScript.run(this.redis, { upstream: this.keys(account)('upstream') }, { kind, reason });
  }

  private see(account: string, request: string | null | undefined): void {
    if (request === 'post' || request === 'messages')
      this.seen.set(account, { at: performance.now(), request });
    else this.seen.delete(account);
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

function outageKeys(keys: AccountKeys): { upstream: string; relapses: string; forbidden: string } {
  return {
    upstream: keys('upstream'),
    relapses: keys('upstream', 'relapses'),
    forbidden: keys('upstream', 'forbidden'),
  };
}

/**
 * Returns the script arguments that append the event of an outage to the event log. The event's revision is the start
 * time of the outage, which identifies the outage.
 */
function outageEvent(
  type: EventTypeOf<'upstream'>,
  account: string,
  { since, reason }: Outage,
): (string | number)[] {
  const data = { since: new Date(since).toISOString(), reason };
  return appendEventsLuaArguments(account, [{ type, subject: `upstream:${account}`, revision: since, data }]);
}
