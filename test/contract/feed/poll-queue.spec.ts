import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClaimedPoll, RedisPollDueTimeReader, RedisPollQueue } from '#feed';
import { closeRedis, newId, openRedis, parseRedisAddress, pause, type RedisClient } from '#platform';
import { MAX_POLL_TOKEN_RETRY_PAUSE_MS, RedisRequestBudget } from '#upstream';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { setBackClock } from '../../support/set-back-clock.js';

const ACCOUNT = 'a';
const RATE = 50;

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let one: RedisPollQueue;
let two: RedisPollQueue;
let budget: RedisRequestBudget;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});
beforeEach(() => {
  prefix = newId('req');
  one = new RedisPollQueue(redis, prefix);
  two = new RedisPollQueue(redis, prefix);
  budget = new RedisRequestBudget(redis, prefix);
});
afterEach(async () => {
  const left = await redis.keys(`${prefix}*`);
  if (left.length > 0) await redis.del(...left);
});

const key = (...parts: string[]): string => [prefix, `{${ACCOUNT}}`, ...parts].join(':');

async function redisNow(): Promise<number> {
  const [seconds = 0, micros = 0] = (await redis.time()).map(Number);
  return seconds * 1000 + Math.floor(micros / 1000);
}

/** Makes a contact due `inMs` milliseconds from now. */
async function schedule(kind: 'due' | 'deep', contactId: string, inMs: number): Promise<void> {
  await redis.zadd(key('polls', kind), (await redisNow()) + inMs, contactId);
}

async function dueAt(contactId: string, kind: 'due' | 'deep' = 'due'): Promise<number> {
  return Number(await redis.zscore(key('polls', kind), contactId));
}

/** Claims a poll; undefined if nothing can be claimed now. */
async function claim(by = one, rate = RATE): Promise<ClaimedPoll | undefined> {
  const reply = await by.claim(ACCOUNT, rate);
  return 'claimed' in reply ? reply.claimed : undefined;
}

/** Claims a poll like {@link claim}, but waits for the budget token. */
async function claimInTime(by = one, rate = RATE): Promise<ClaimedPoll> {
  for (const end = performance.now() + 30_000; performance.now() < end;) {
    const reply = await by.claim(ACCOUNT, rate);
    if ('claimed' in reply) return reply.claimed;
    await pause('waitMs' in reply ? Math.min(reply.waitMs, MAX_POLL_TOKEN_RETRY_PAUSE_MS) : 5);
  }
  throw new Error('nothing could be claimed');
}

const drain = async (rate = RATE): Promise<void> => {
  while ((await budget.tryAcquire(ACCOUNT, rate, 'more')).waitMs === 0);
  await redis.hset(key('budget'), 'more', 0, 'credit', 0);
};

describe('the claim of a due contact', () => {
  it('takes the contact that has been overdue longest, and returns for how long the contact has been overdue', async () => {
    await schedule('due', 'late', -500);
    await schedule('due', 'later', -100);
    await schedule('due', 'not yet', 60_000);
    expect(await claim()).toMatchObject({ kind: 'head', contactId: 'late' });
    const second = await claim();
    expect(second).toMatchObject({ contactId: 'later', consecutiveFailures: 0 });
    expect(second?.overdueMs).toBeGreaterThanOrEqual(100);
    expect(second?.overdueMs).toBeLessThan(2_000);
  });

  it('returns the time at which the next contact becomes due if no contact is due now', async () => {
    expect(await one.claim(ACCOUNT, RATE)).toEqual({});
    await schedule('due', 'c', 60_000);
    await schedule('deep', 'd', 30_000);
    const reply = await one.claim(ACCOUNT, RATE);
    expect(reply).toEqual({ nextDueAt: await dueAt('d', 'deep'), nextDueInMs: expect.any(Number) });
  });

  it('takes one token of the budget; without a token the contact stays due', async () => {
    await schedule('due', 'c', -100);
    await drain(1);
    const before = await dueAt('c');
    const reply = await one.claim(ACCOUNT, 1);
    expect(reply).toEqual({ waitMs: expect.any(Number) });
    expect(await dueAt('c')).toBe(before);
    await redis.del(key('budget'));
    await claim(one, 1);
    expect((await budget.tryAcquire(ACCOUNT, 1, 'send')).waitMs).toBeGreaterThan(0);
  });

  it('takes no token of the budget if no contact is due', async () => {
    await one.claim(ACCOUNT, 1);
    expect((await budget.tryAcquire(ACCOUNT, 1, 'send')).waitMs).toBe(0);
  });

  it('never gives one contact to two workers', async () => {
    for (let i = 0; i < 30; i += 1) await schedule('due', `c${i}`, -i);
    const taken: string[] = [];
    const work = async (queue: RedisPollQueue): Promise<void> => {
      for (let c = await claim(queue, 1_000); c !== undefined; c = await claim(queue, 1_000))
        taken.push(c.contactId);
    };
    await Promise.all([work(one), work(two), work(one), work(two)]);
    expect(taken).toHaveLength(30);
    expect(new Set(taken).size).toBe(30);
  });

  it('waits while a running poll still needs a token of the budget for its next request', async () => {
    await schedule('due', 'c', -100);
    await drain(2);
    await budget.tryAcquire(ACCOUNT, 2, 'more');
    let granted = false;
    await eventually('the further request has its token', async () => {
      expect(await claim(one, 2)).toBeUndefined();
      granted = (await budget.tryAcquire(ACCOUNT, 2, 'more')).waitMs === 0;
      return granted;
    });
    expect(await claimInTime(one, 2)).toMatchObject({ contactId: 'c' });
  });

  it('is not blocked while many sends wait for the budget: claims get about a fifth of the budget', async () => {
    const end = performance.now() + 2_500;
    let [sends, polls] = [0, 0];
    const flood = async (): Promise<void> => {
      while (performance.now() < end) {
        await budget.acquire(ACCOUNT, RATE, 'send', 5_000);
        sends += 1;
      }
    };
    const poll = async (): Promise<void> => {
      for (let n = 0; performance.now() < end; n += 1) {
        await schedule('due', `c${n}`, -1);
        await claimInTime();
        polls += 1;
      }
    };
    await Promise.all([poll(), ...Array.from({ length: 8 }, flood)]);
    expect(polls / (polls + sends)).toBeGreaterThan(0.14);
  });
});

describe('reads of older messages', () => {
  it.each([
    ['a fifth as many if they are an hour late', 3_600_000, undefined, 9],
    ['a fifth as many if they are late by the sweep interval, which is set to 20 s', 20_000, 20_000, 9],
    ['almost none if they have just become due', 1_000, undefined, 0],
  ])(
    'get fewer upstream requests than due reads of the newest messages (%s), and all upstream requests if no read of the newest messages is due',
    async (_, lateMs, sweepMs, expected) => {
      one = new RedisPollQueue(redis, prefix, undefined, undefined, sweepMs);
      two = new RedisPollQueue(redis, prefix, undefined, undefined, sweepMs);
      for (let i = 0; i < 200; i += 1) await schedule('due', `h${i}`, -100);
      for (let i = 0; i < 100; i += 1) await schedule('deep', `d${i}`, -lateMs);
      await drain();
      const kinds: string[] = [];
      for (let i = 0; i < 55; i += 1) kinds.push((await claimInTime()).kind);
      expect(kinds.filter((kind) => kind === 'deep')).toHaveLength(expected);
      await redis.del(key('polls', 'due'));
      for (let i = 0; i < 20; i += 1) expect((await claimInTime()).kind).toBe('deep');
    },
  );

  it('get their share of the budget for each further page, even while reads of the newest messages are due', async () => {
    for (let i = 0; i < 200; i += 1) await schedule('due', `h${i}`, -100);
    await drain();
    await redis.hset(key('budget'), 'deepShare', 0.2);
    let [heads, pages, over] = [0, 0, false];
    const read = async (): Promise<void> => {
      while (!over) {
        const { waitMs } = await budget.tryAcquire(ACCOUNT, RATE, 'deep');
        if (waitMs === 0) pages += 1;
      }
    };
    const reading = read();
    while (heads < 60) {
      await claimInTime();
      heads += 1;
    }
    over = true;
    await reading;
    expect(pages).toBeGreaterThanOrEqual(11);
    expect(pages).toBeLessThanOrEqual(14);
  });
});

describe('the lease of a claimed contact', () => {
  it('prevents another claim of the contact, even if the contact becomes due again', async () => {
    await schedule('due', 'c', -100);
    await claimInTime();
    await schedule('due', 'c', -50);
    expect(await claim(two)).toBeUndefined();
    expect(await dueAt('c')).toBeGreaterThan(await redisNow());
  });

  it('expires within 3 s if it is not renewed', async () => {
    await schedule('due', 'c', -100);
    await claimInTime();
    const begun = performance.now();
    await eventually('the contact is claimed again', async () => (await claim(two)) !== undefined, 10_000);
    expect(performance.now() - begun).toBeGreaterThan(1_900);
    expect(performance.now() - begun).toBeLessThan(3_000);
  });

  it('that expires makes the contact due again, before contacts that became due later', async () => {
    const quick = new RedisPollQueue(redis, prefix, 50);
    await schedule('due', 'first', -5_000);
    await schedule('due', 'second', -3_000);
    expect((await claimInTime(quick)).contactId).toBe('first');
    await eventually('the lease has expired', async () => (await dueAt('first')) <= (await redisNow()));
    const [next, last] = [await claimInTime(two), await claimInTime(two)];
    expect([next.contactId, last.contactId]).toEqual(['first', 'second']);
    expect(next.overdueMs).toBeGreaterThanOrEqual(5_000);
  });

  it('that expires does not change the due time that a commit has set', async () => {
    const quick = new RedisPollQueue(redis, prefix, 50);
    await schedule('due', 'c', -5_000);
    await claimInTime(quick);
    await schedule('due', 'c', 60_000);
    const set = await dueAt('c');
    await eventually('the lease has expired', async () => {
      expect(await claim(two)).toBeUndefined();
      return (await redis.zcard(key('polls', 'leased'))) === 0;
    });
    expect(await dueAt('c')).toBe(set);
  });

  it('that expires leaves nothing in Redis if the contact was removed', async () => {
    for (const kind of ['due', 'deep'] as const) await schedule(kind, 'removed', -100);
    await claimInTime();
    await claimInTime();
    await redis.del(key('polls', 'due'), key('polls', 'deep'));
    for (const member of ['head:removed', 'deep:removed'])
      await redis.zadd(key('polls', 'leased'), 0, member);
    expect(await redis.hlen(key('polls', 'leases'))).toBe(2);
    await claim();
    expect(await redis.hgetall(key('polls', 'leases'))).toEqual({});
  });

  it('lasts while the worker renews the lease, and ends when the worker ends its claim', async () => {
    const [quick, other] = [new RedisPollQueue(redis, prefix, 300), new RedisPollQueue(redis, prefix, 300)];
    await schedule('due', 'c', -100);
    const claimed = await claimInTime(quick);
    for (const end = performance.now() + 1_000; performance.now() < end;) {
      expect(await quick.renew(ACCOUNT, [claimed])).toEqual([]);
      expect(await claim(other)).toBeUndefined();
    }
    await quick.end(ACCOUNT, claimed, 'aborted');
    expect(await claim(other)).toMatchObject({ contactId: 'c' });
  });

  it('can be renewed or ended without a change of the due time that was set after the claim', async () => {
    await schedule('due', 'c', -100);
    const claimed = await claimInTime();
    await schedule('due', 'c', 60_000);
    const set = await dueAt('c');
    await one.renew(ACCOUNT, [claimed]);
    expect(await dueAt('c')).toBe(set);
    await one.end(ACCOUNT, claimed, 'aborted');
    expect(await dueAt('c')).toBe(set);
  });

  it.each(['head', 'deep'] as const)(
    'stays ended if a renewal arrives after the end of the claim, so that the contact is polled when it is due (kind of poll: %s)',
    async (kind) => {
      const set = kind === 'head' ? 'due' : 'deep';
      await schedule(set, 'c', -100);
      const claimed = await claimInTime();
      await schedule(set, 'c', 200);
      await one.end(ACCOUNT, claimed, 'done');
      expect(await one.renew(ACCOUNT, [claimed])).toEqual([]);
      const soon = await dueAt('c', set);
      await eventually('the contact is due', async () => soon <= (await redisNow()));
      expect(await claimInTime(two)).toMatchObject({ kind, contactId: 'c' });
      expect(await redisNow()).toBeLessThan(soon + 1_000);
    },
  );

  it('is valid again after a renewal if Redis lost the lease in a failover', async () => {
    await schedule('due', 'c', -100);
    const claimed = await claimInTime();
    await redis.del(key('polls', 'leases'), key('polls', 'leased'));
    await schedule('due', 'c', -100);
    expect(await one.renew(ACCOUNT, [claimed])).toEqual([]);
    expect(await claim(two)).toBeUndefined();
    await one.end(ACCOUNT, claimed, 'aborted');
    expect(await claim(two)).toMatchObject({ contactId: 'c' });
  });

  it('is reported to the first worker as lost after a second worker has taken over the contact; the first worker cannot end the claim of the second worker', async () => {
    const quick = new RedisPollQueue(redis, prefix, 1);
    await schedule('due', 'c', -100);
    const first = await claimInTime(quick);
    const second = await claimInTime(two);
    expect(await one.renew(ACCOUNT, [first, second])).toEqual([first]);
    await quick.end(ACCOUNT, first, 'failed');
    expect(await claim(one)).toBeUndefined();
    expect(await one.renew(ACCOUNT, [second])).toEqual([]);
  });

  it('for a read of the newest messages does not prevent a read of older messages of the same contact', async () => {
    await schedule('due', 'c', -100);
    await schedule('deep', 'c', -100);
    const kinds = [await claimInTime(), await claimInTime()].map(({ kind }) => kind);
    expect(kinds).toEqual(['head', 'deep']);
  });
});

describe('a read of the newest messages', () => {
  it('leaves the contact due if the read ends without a successful commit', async () => {
    await schedule('due', 'c', -100);
    await one.end(ACCOUNT, await claimInTime(), 'done');
    expect(await claim(two)).toMatchObject({ kind: 'head', contactId: 'c' });
  });
});

describe('a failed read', () => {
  it('doubles the wait before the next read; a successful read resets the number of consecutive failures', async () => {
    await redis.hset(key('c', 'c'), 'v', 1);
    const waits: (number | undefined)[] = [];
    for (let i = 0; i < 8; i += 1) {
      await schedule('due', 'c', -100);
      const claimed = await claimInTime();
      expect(claimed.consecutiveFailures).toBe(i);
      waits.push((await one.end(ACCOUNT, claimed, 'failed')).dueAgainInMs);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000]);
    expect((await dueAt('c')) - (await redisNow())).toBeGreaterThan(250_000);
    await schedule('due', 'c', -100);
    const claimed = await claimInTime();
    await schedule('due', 'c', 60_000);
    const { nextDueAt, ...ended } = await one.end(ACCOUNT, claimed, 'done');
    expect(nextDueAt).toBe(await dueAt('c'));
    expect(ended).toEqual({ nextDueInMs: expect.any(Number) });
    await schedule('due', 'c', -100);
    expect((await claimInTime()).consecutiveFailures).toBe(0);
  });

  it('is repeated after a second, and does not count as a failure of the contact, if the contact is not the cause of the failure', async () => {
    await redis.hset(key('c', 'c'), 'v', 1);
    await schedule('due', 'c', -100);
    expect(await one.end(ACCOUNT, await claimInTime(), 'postponed')).toMatchObject({
      dueAgainInMs: 1_000,
      nextDueInMs: 1_000,
    });
    expect(await redis.hget(key('c', 'c'), 'failed')).toBeNull();
  });

  it('of the newest messages is counted, and the time of the first failure is kept; failures of one contact in a row count once, unless the account has no other contact', async () => {
    const facts = (): Promise<Record<string, string>> => redis.hgetall(key('polls', 'facts'));
    const fail = async (contactId: string): Promise<void> => {
      const claim = { kind: 'head' as const, lease: '', overdueMs: 0, consecutiveFailures: 0 };
      await one.end(ACCOUNT, { ...claim, contactId, isUpstreamAvailable: true }, 'failed');
    };
    await schedule('due', 'c', 60_000);
    for (let i = 0; i < 3; i += 1) await fail('c');
    const first = await facts();
    expect(first).toMatchObject({ failures: '3', failedContact: 'c' });
    await schedule('due', 'd', 60_000);
    for (const contactId of ['c', 'd', 'd', 'c', 'c']) await fail(contactId);
    const last = await facts();
    expect(last).toMatchObject({ failures: '5', failedSince: first['failedSince'] });
    expect(Number(last['failedAt'])).toBeGreaterThanOrEqual(Number(first['failedAt']));
    // A time in the future is from before Redis' clock was set back.
    await redis.hset(key('polls', 'facts'), 'failedSince', (await redisNow()) + 3_600_000);
    await fail('d');
    const { failedSince, failures } = await facts();
    expect(Number(failedSince)).toBeLessThanOrEqual(await redisNow());
    expect(failures).toBe('1');
  });

  it('of the newest messages is counted even if it was postponed; a failed read of older messages is not counted, and neither is an aborted read', async () => {
    await schedule('deep', 'c', -100);
    await one.end(ACCOUNT, await claimInTime(), 'failed');
    await schedule('due', 'c', -100);
    await one.end(ACCOUNT, await claimInTime(), 'aborted');
    expect(await redis.exists(key('polls', 'facts'))).toBe(0);
    await one.end(ACCOUNT, await claimInTime(), 'postponed');
    expect(await redis.hget(key('polls', 'facts'), 'failures')).toBe('1');
  });

  it('stores nothing for an unknown contact', async () => {
    await schedule('due', 'c', -100);
    await one.end(ACCOUNT, await claimInTime(), 'failed');
    expect(await redis.exists(key('c', 'c'))).toBe(0);
  });
});

describe('the state that an earlier build stored', () => {
  it('can be used: a budget without newer fields is valid, and a contact that the earlier build claimed stays claimed', async () => {
    const at = await redisNow();
    await redis.hset(key('budget'), {
      tokens: '0.500000',
      floor: '1.000000',
      at: String(at),
      send: '0',
      poll: '0',
    });
    await schedule('due', 'claimed by the earlier build', 6_000);
    await schedule('due', 'c', -100);
    expect(await claimInTime()).toMatchObject({ contactId: 'c' });
    expect(await claim()).toBeUndefined();
  });
});

describe("the polls of an account after Redis' clock was set back", () => {
  it('are due as before, even a poll whose worker died', async () => {
    const reader = new RedisPollDueTimeReader(redis, prefix);
    await schedule('due', 'leased', -1);
    await schedule('due', 'waiting', 20_000);
    await schedule('deep', 'older', 30_000);
    expect(await claim()).toMatchObject({ contactId: 'leased' });
    await reader.read(ACCOUNT);
    await setBackClock(redis, prefix, 3_600_000);
    expect((await reader.read(ACCOUNT)).dueInMs).toBeLessThanOrEqual(20_000);
    expect((await dueAt('older', 'deep')) - (await redisNow())).toBeLessThanOrEqual(30_000);
    await redis.zadd(key('polls', 'due'), 'XX', await redisNow(), 'leased');
    expect(await claim(two)).toMatchObject({ contactId: 'leased' });
  });
});
