import { describe, expect, it } from '@jest/globals';
import type { DetectionDelay, PollReport } from '#feed';
import { eventually } from '../../support/eventually.js';
import { A } from './house.js';
import { NUMBER, WithHouse } from './with-house.js';

const here = new WithHouse();
const HOUR_MS = 3_600_000;

/** Returns the time by Redis' clock, in milliseconds since 1970. */
const redisNow = async (): Promise<number> => (await here.house.store.knownContacts(A)).now;

const delays = async (): Promise<DetectionDelay> => (await here.house.store.overview(A)).detectionDelay;

const keyOf = (name: string): string => `${here.house.prefix}:{${A}}:polls:${name}`;

/** Returns the stored bounds of the clock difference and of the interval. */
const facts = (): Promise<Record<string, string>> => here.house.redis.hgetall(keyOf('facts'));

/** Returns a contact without messages, read so often that the clock difference is known to less than a second. */
async function watched(): Promise<string> {
  const contactId = here.house.contact(NUMBER);
  await here.house.sweep();
  await here.house.polls.poll(A, contactId);
  return contactId;
}

/** Commits arrivals, as a poll that began `tookMs` milliseconds ago. */
async function commitArrivals(
  arrivals: PollReport['arrivals'],
  { tookMs = 0, ...more }: Partial<PollReport> & { tookMs?: number } = {},
): Promise<void> {
  const { store } = here.house;
  const [contactId = ''] = [...(await store.knownContacts(A)).contacts.keys()];
  const state = await store.contactState(A, contactId);
  if (state === undefined) throw new Error('contact not found');
  const done = await store.commitPoll(A, contactId, {
    ...{ version: state.version, life: state.life, hastened: state.hastened, afresh: false },
    ...{ known: new Map(), events: [], memory: state.memory, bucket: 1, dueInMs: 1_000, unreadable: 0 },
    ...{ extension: state.extension, baseline: 'unchanged', deep: 'unchanged' },
    numbers: [],
    report: {
      startedAt: state.now - tookMs,
      arrivals,
      interval: { min: 50, max: 60_000 },
      ...more,
    },
  });
  expect(done).toBe(true);
}

describe.each([
  ['in step with Redis', 0],
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('the detection delay with upstream’s clock %s', (_, clockSkewMs) => {
  it('is the time from the message’s timestamp to the commit, without the clock difference', async () => {
    const { house } = here;
    house.control('settings', { clockSkewMs });
    const contactId = await watched();
    const stampedAt = (await redisNow()) - 20_000;
    house.messages(contactId, { timestamp: stampedAt + clockSkewMs });
    await house.polls.poll(A, contactId);
    const took = (await redisNow()) - stampedAt;
    const { p50Ms = NaN, p95Ms, count, estimated } = await delays();
    expect({ count, estimated }).toEqual({ count: 1, estimated: 0 });
    expect(p95Ms).toBe(p50Ms);
    // `Date` has whole seconds: the clock difference is known to half a second. A bucket is off by at most 7.3 %.
    expect(p50Ms).toBeGreaterThan((20_000 - 600) / 1.073);
    expect(p50Ms).toBeLessThan((took + 600) * 1.073);
  });
});

describe('the detection delay', () => {
  it('is unknown before the first message', async () => {
    await watched();
    expect(await delays()).toEqual({ count: 0, estimated: 0, late: 0 });
  });

  it('is measured for no message of a baseline, and once per message', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    here.createOldMessages(contactId, 10);
    await house.sweep();
    expect((await delays()).count).toBe(0);
    house.messages(contactId, { count: 3 });
    for (let reads = 0; reads < 3; reads += 1) await house.polls.poll(A, contactId);
    expect((await delays()).count).toBe(3);
  });

  it('is counted as late for a message that is more than a day old', async () => {
    const { house } = here;
    const contactId = await watched();
    here.createOldMessages(contactId, 2);
    await house.polls.poll(A, contactId);
    expect(await delays()).toEqual({ count: 0, estimated: 0, late: 2 });
  });

  it('without a timestamp is estimated from the previous read; without a previous read it is not measured', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ shownAt: now - 8_000 }, {}]);
    const { count, estimated, p50Ms = NaN } = await delays();
    expect({ count, estimated }).toEqual({ count: 1, estimated: 1 });
    expect(p50Ms).toBeGreaterThan(8_000 / 1.073);
  });

  it('is estimated if the timestamp lies far ahead, or while the clock difference is unknown', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ timestamp: now + HOUR_MS, shownAt: now - 8_000 }]);
    await here.house.redis.del(keyOf('facts'));
    await commitArrivals([{ timestamp: now - HOUR_MS, shownAt: now - 8_000 }]);
    expect(await delays()).toMatchObject({ count: 2, estimated: 2, late: 0 });
    expect((await delays()).p95Ms).toBeLessThan(HOUR_MS / 10);
  });

  it('uses a clock difference that each read narrows down to less than a second', async () => {
    const { house } = here;
    house.control('settings', { clockSkewMs: 10_000 });
    const contactId = await watched();
    await eventually('the bounds of the clock difference are close', async () => {
      await house.polls.poll(A, contactId);
      const { low, high } = await facts();
      expect(Number(low)).toBeLessThanOrEqual(10_001);
      expect(Number(high)).toBeGreaterThanOrEqual(9_999);
      return Number(high) - Number(low) < 400;
    });
  });

  it('measures the clock difference again after upstream’s clock was set', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([], { upstreamDate: now - HOUR_MS });
    await commitArrivals([{ timestamp: now - HOUR_MS - 5_000 }], { upstreamDate: now - HOUR_MS });
    const { p50Ms = NaN } = await delays();
    expect(p50Ms).toBeGreaterThan((5_000 - 1_000) / 1.073);
    expect(p50Ms).toBeLessThan(60_000);
    // Upstream's clock is set again: the bounds have the same distance as before but other values.
    const low = -5 * HOUR_MS;
    await here.house.redis.hset(keyOf('facts'), { low, high: low + 1_001, at: await redisNow() });
    await commitArrivals([], { upstreamDate: now + HOUR_MS });
    expect(Math.abs(Number((await facts())['low']) - HOUR_MS)).toBeLessThan(60_000);
  });

  it('expires after an hour', async () => {
    const { house } = here;
    await watched();
    const now = await redisNow();
    await commitArrivals([{ shownAt: now - 1_000 }]);
    await commitArrivals([{ shownAt: now - 1_000 }], { tookMs: HOUR_MS });
    expect((await delays()).count).toBe(1);
    const slots = await house.redis.keys(keyOf('delays:*'));
    expect(slots).toHaveLength(2);
    for (const slot of slots) {
      const ttl = await house.redis.pttl(slot);
      expect(ttl).toBeGreaterThan(HOUR_MS);
      expect(ttl).toBeLessThan(2 * HOUR_MS);
    }
  });

  it('is not measured by a poll whose commit is refused', async () => {
    const { house } = here;
    const contactId = await watched();
    house.messages(contactId);
    await Promise.all([1, 2, 3].map(() => house.polls.poll(A, contactId)));
    expect((await delays()).count).toBe(1);
  });
});

describe('the polling overview', () => {
  it('contains the bounds of the interval that the worker uses', async () => {
    expect(await here.house.store.overview(A)).not.toHaveProperty('interval');
    await watched();
    expect((await here.house.store.overview(A)).interval).toEqual({ minMs: 50, maxMs: 60_000 });
  });

  it('counts the skipped elements', async () => {
    await watched();
    await commitArrivals([], { skipped: 2 });
    await commitArrivals([], { skipped: 1 });
    expect((await here.house.store.overview(A)).skipped).toBe(3);
  });

  it('contains the number of due deep reads, their delay, and the histogram of rates', async () => {
    const { house } = here;
    await watched();
    const now = await redisNow();
    await house.redis.zadd(keyOf('deep'), now - 5_000, 'a', now + 60_000, 'b');
    await house.redis.del(keyOf('rates'));
    await house.redis.hset(keyOf('rates'), { 0: 3, 12: 1 });
    const { deep, rates } = await house.store.overview(A);
    expect(deep.waiting).toBe(1);
    expect(deep.lagMs).toBeGreaterThanOrEqual(5_000);
    expect(rates).toEqual(
      new Map([
        [0, 3],
        [12, 1],
      ]),
    );
  });
});
