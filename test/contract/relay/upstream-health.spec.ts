import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient, readRedisTime } from '#platform';
import { RedisRelayDueTimeReader, RedisUpstreamHealth, UpstreamProbe } from '#relay';
import { BudgetExhaustedError, type Outage, type OutageKind, type UnprobedRequest } from '#upstream';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { eventually } from '../../support/eventually.js';
import { setBackClock } from '../../support/set-back-clock.js';

let server: TestRedis;
let clients: RedisClient[];
let prefix: string;
let one: RedisUpstreamHealth;
let two: RedisUpstreamHealth;
let log: RedisEventLog;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  prefix = newId('req');
  clients = [1, 2].map(() => openRedis(parseRedisAddress(server.url), 'failFast', () => undefined));
  await Promise.all(clients.map((client) => once(client, 'ready')));
  [one, two] = clients.map((client) => new RedisUpstreamHealth(client, prefix)) as [typeof one, typeof two];
  log = new RedisEventLog(clients[0] as RedisClient, prefix);
});
afterEach(async () => {
  await Promise.all(clients.map((client) => closeRedis(client)));
});

const emitted = async (): Promise<{ type: string; data: unknown }[]> =>
  (await log.read('a', undefined, 100)).events.map(({ type, data }) => ({
    type,
    data: JSON.parse(data) as unknown,
  }));
async function outage(by = one): Promise<Outage> {
  const lasting = await by.outage('a');
  if (lasting === undefined) throw new Error('the account has no outage');
  return lasting;
}

describe('an outage of upstream', () => {
  it('causes only one event at its start and one at its end across all processes, each with the start time and the reason', async () => {
    const begun = await Promise.all(
      [one, two, one, two].map((by) => by.recordOutage('a', 'away', 'no route')),
    );
    expect(begun.filter(Boolean)).toHaveLength(1);
    const lasting = await outage(two);
    expect(lasting).toMatchObject({ kind: 'away', reason: 'no route' });
    const ended = await Promise.all([one, two, one, two].map((by) => by.recordRecovery('a', lasting)));
    expect(ended.filter(Boolean)).toHaveLength(1);
    expect(await two.outage('a')).toBeUndefined();
    const data = { since: new Date(lasting.since).toISOString(), reason: 'no route' };
    expect(await emitted()).toEqual([
      { type: 'upstream.unavailable', data },
      { type: 'upstream.recovered', data },
    ]);
  });

  it('has its own events, and is not ended by a late report that the previous outage is over', async () => {
    await one.recordOutage('a', 'away', 'first');
    const first = await outage();
    await one.recordRecovery('a', first);
    // An outage begins with a failed request, and so never in the millisecond in which the earlier one began.
    await eventually('the next millisecond', () => Date.now() > first.since);
    await two.recordOutage('a', 'refused', 'second');
    expect(await one.recordRecovery('a', first)).toBe(false);
    expect((await outage()).reason).toBe('second');
    // The expiry of the recovered state must not delete a new outage.
    expect(await clients[0]?.pttl(`${prefix}:{a}:upstream`)).toBe(-1);
    await two.recordRecovery('a', await outage());
    const events = (await log.read('a', undefined, 100)).events;
    expect(events.map(({ type }) => type)).toEqual([
      ...['upstream.unavailable', 'upstream.recovered', 'upstream.unavailable', 'upstream.recovered'],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
  });

  it('keeps its start time, has the latest reason, and can change from unreachable to refused but not back', async () => {
    await one.recordOutage('a', 'away', 'first');
    const { since } = await outage();
    await two.recordOutage('a', 'refused', 'second');
    await one.recordOutage('a', 'away', 'third');
    expect(await outage()).toEqual({ since, kind: 'refused', reason: 'third' });
  });

  it('of one account does not affect another account', async () => {
    await one.recordOutage('a', 'away', 'x');
    expect(await one.outage('b')).toBeUndefined();
  });
});

const turn = (by: RedisUpstreamHealth): Promise<string> => by.claimProbeTurn('a', 60_000);

describe('the probes that detect the end of an outage', () => {
  const untilProbe = (by: RedisUpstreamHealth): Promise<boolean> =>
    eventually('a probe is due', async () => (await turn(by)) === 'probe');

  it('are not made while there is no outage', async () => {
    expect(await turn(one)).toBe('nothing');
  });

  it('are made one at a time, and the first only after a delay', async () => {
    await one.recordOutage('a', 'away', 'x');
    expect([await turn(one), await turn(two)]).toEqual(['nothing', 'nothing']);
    await untilProbe(one);
    expect(await turn(two)).toBe('nothing');
    await one.recordFailedProbe('a', 'away', 'still');
    expect(await turn(one)).toBe('nothing');
    await untilProbe(two);
    expect((await outage()).reason).toBe('still');
  });

  it('are made at intervals that double after each failed probe', async () => {
    const now = (): Promise<number> => readRedisTime(clients[0] as RedisClient, prefix);
    for (const waitMs of [500, 1_000, 2_000, 4_000]) {
      const before = await now();
      if (waitMs === 500) await one.recordOutage('a', 'away', 'x');
      else await one.recordFailedProbe('a', 'away', 'x');
      // Measured by Redis' clock, because a busy test machine observes late.
      const at = Number(await clients[0]?.hget(`${prefix}:{a}:upstream`, 'probeAt'));
      expect(at - before).toBeGreaterThanOrEqual(waitMs);
      expect(at - (await now())).toBeLessThanOrEqual(waitMs);
    }
  });

  describe('if one outage follows another,', () => {
    const untilProbeMs = async (): Promise<number> => {
      const [redis] = clients as [RedisClient];
      const at = Number(await redis.hget(`${prefix}:{a}:upstream`, 'probeAt'));
      return at - (await readRedisTime(redis, prefix));
    };
    /** Begins an outage and ends it. Returns the time from its start until its first probe, in milliseconds. */
    const outageOf = async (
      by: RedisUpstreamHealth,
      ...last: [OutageKind, UnprobedRequest?]
    ): Promise<number> => {
      const [kind, request] = last;
      await by.recordOutage('a', kind, 'x', request);
      const waitMs = await untilProbeMs();
      await by.recordRecovery('a', await outage(by));
      return waitMs;
    };
    /** Returns each wait as a multiple of the first wait. Rounds up, because a busy test machine measures late. */
    const factors = (waits: readonly number[]): number[] => waits.map((ms) => Math.ceil(ms / 500));

    it.each([
      ['30 seconds after its start, if reads of messages fail', 'messages', [1, 2, 4, 8, 16, 32, 60, 60]],
      ['4 seconds after its start, if POSTs fail, because polls wait too', 'post', [1, 2, 4, 8, 8, 8, 8, 8]],
    ] as const)(
      'begin later in each outage (at most %s), whichever process reports the outage',
      async (_, request, expected) => {
        const waits: number[] = [];
        for (let i = 0; i < 8; i += 1) waits.push(await outageOf(i % 2 === 0 ? one : two, 'away', request));
        expect(factors(waits)).toEqual(expected);
      },
    );

    it('begin as early as in the first outage if a request has succeeded since; after failed POSTs, a successful read of messages is not enough', async () => {
      const rounds: [UnprobedRequest, UnprobedRequest][] = [
        ['messages', 'messages'],
        ['messages', 'post'],
        ['post', 'post'],
        ['post', 'messages'],
        ['post', 'post'],
      ];
      const waits: number[] = [];
      for (const [failed, succeeded] of rounds) {
        waits.push(await outageOf(one, 'away', failed));
        await one.recordSuccess('a', succeeded, performance.now());
      }
      expect(factors(waits)).toEqual([1, 1, 1, 1, 2]);
    });

    it('do not begin earlier because of a successful request that began before the first outage', async () => {
      const beganAt = performance.now() - 1;
      await outageOf(one, 'away', 'messages');
      await one.recordSuccess('a', 'messages', beganAt);
      expect(factors([await outageOf(one, 'away', 'messages')])).toEqual([2]);
    });

    it('begin as early as in the first outage if another process, which has read that there was an outage, has made a successful request in between', async () => {
      await one.recordOutage('a', 'away', 'x', 'messages');
      await one.recordRecovery('a', await outage(two));
      await two.recordSuccess('a', 'messages', performance.now());
      expect(factors([await outageOf(one, 'away', 'messages')])).toEqual([1]);
    });

    it('begin as early as in the first outage if only reads of the contact list failed, as a probe reads the contact list', async () => {
      expect(factors([await outageOf(one, 'away'), await outageOf(one, 'away')])).toEqual([1, 1]);
    });

    it('begin later in each outage while upstream refuses some requests, even if others succeed', async () => {
      const waits: number[] = [];
      for (let i = 0; i < 3; i += 1) {
        waits.push(await outageOf(one, 'refused'));
        await one.recordSuccess('a', 'post', performance.now());
      }
      expect(factors(waits)).toEqual([1, 2, 4]);
    });
  });

  it('are at most 30 seconds apart', async () => {
    await one.recordOutage('a', 'away', 'x');
    for (let i = 0; i < 40; i += 1) await one.recordFailedProbe('a', 'away', 'x');
    const at = Number(await clients[0]?.hget(`${prefix}:{a}:upstream`, 'probeAt'));
    expect(at - Date.now()).toBeLessThanOrEqual(30_000);
    expect(at - Date.now()).toBeGreaterThan(20_000);
  });

  it("are made as before if Redis' clock is set back", async () => {
    const [redis] = clients as [RedisClient];
    const survey = new RedisRelayDueTimeReader(redis, prefix, { maxAgeMs: 60_000, maxCount: 1_000 }, 60_000);
    await one.recordOutage('a', 'away', 'x');
    await survey.read('a');
    await setBackClock(redis, prefix, 3_600_000);
    await redis.hincrby(`${prefix}:{a}:upstream`, 'probeAt', 3_600_000);
    await survey.read('a');
    await untilProbe(one);
  });

  it('are taken over by another process when the lease of a crashed process expires', async () => {
    await one.recordOutage('a', 'away', 'x');
    await eventually('a probe has started', async () => (await one.claimProbeTurn('a', 200)) === 'probe');
    expect(await turn(two)).toBe('nothing');
    await untilProbe(two);
  });

  it('are retried later if the budget has no token', async () => {
    await one.recordOutage('a', 'away', 'x');
    let probes = 0;
    const withoutToken = (): Promise<void> => {
      probes += 1;
      return Promise.reject(new BudgetExhaustedError(50));
    };
    const probe = new UpstreamProbe(one, withoutToken, 600_000);
    await eventually('a second probe is made', async () => {
      await probe.run('a');
      return probes >= 2;
    });
    expect((await outage()).reason).toBe('x');
  });

  it('stop when the outage ends; for a short time, processes that ask whether to probe get the answer `recovered`', async () => {
    await one.recordOutage('a', 'away', 'x');
    await one.recordRecovery('a', await outage());
    expect([await turn(one), await turn(two)]).toEqual(['recovered', 'recovered']);
    await eventually('the recovery period has ended', async () => (await turn(two)) === 'nothing');
  });

  it('start no new outage if they fail after the end of the outage', async () => {
    await one.recordFailedProbe('a', 'away', 'late');
    expect(await one.outage('a')).toBeUndefined();
  });
});

describe('403 answers of upstream', () => {
  it('are counted across all processes, until a different answer or the end of an outage resets the count', async () => {
    expect([await one.countForbidden('a'), await two.countForbidden('a')]).toEqual([1, 2]);
    await one.resetForbidden('a');
    expect(await two.countForbidden('a')).toBe(1);
    await one.recordOutage('a', 'refused', 'x');
    await one.recordRecovery('a', await outage());
    expect(await two.countForbidden('a')).toBe(1);
  });

  it('are still counted when the recovery period of the last outage has ended', async () => {
    await one.recordOutage('a', 'refused', 'x');
    await one.recordRecovery('a', await outage());
    await one.countForbidden('a');
    await eventually('the recovery period has ended', async () => (await turn(two)) === 'nothing');
    expect(await two.countForbidden('a')).toBe(2);
  });
});
