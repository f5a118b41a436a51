import { describe, expect, it } from '@jest/globals';
import type { DetectionDelay, PollReport } from '#feed';
import { eventually } from '../../support/eventually.js';
import { A } from './house.js';
import { NUMBER, WithHouse } from './with-house.js';

const here = new WithHouse();
const HOUR_MS = 3_600_000;

/** The time by Redis' clock. */
const redisNow = async (): Promise<number> => (await here.house.store.knownContacts(A)).now;

const delays = async (): Promise<DetectionDelay> => (await here.house.store.overview(A)).detectionDelay;

const keyOf = (name: string): string => `${here.house.prefix}:{${A}}:polls:${name}`;

/** The bounds of the clock difference, among others. */
const facts = (): Promise<Record<string, string>> => here.house.redis.hgetall(keyOf('facts'));

/** A contact without messages, read so often that the clock difference is known to well less than a second. */
async function watched(): Promise<string> {
  const contactId = here.house.contact(NUMBER);
  await here.house.sweep();
  await here.house.polls.poll(A, contactId);
  return contactId;
}

/** Commits arrivals by themselves, as a poll that began `tookMs` ago. */
async function commitArrivals(
  arrivals: PollReport['arrivals'],
  { tookMs = 0, ...more }: Partial<PollReport> & { tookMs?: number } = {},
): Promise<void> {
  const { store } = here.house;
  const [contactId = ''] = [...(await store.knownContacts(A)).contacts.keys()];
  const state = await store.contactState(A, contactId);
  if (state === undefined) throw new Error('no such contact');
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
  ['the same as Redis’', 0],
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('the detection delay, upstream’s clock being %s', (_, clockSkewMs) => {
  it('is that from the timestamp to the commit, the clock difference taken out', async () => {
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
    // `Date` is in whole seconds, so the difference is known to half a second; a bucket is off by 7.3 % at most.
    expect(p50Ms).toBeGreaterThan((20_000 - 600) / 1.073);
    expect(p50Ms).toBeLessThan((took + 600) * 1.073);
  });
});

describe('the detection delay', () => {
  it('is unknown before the first message', async () => {
    await watched();
    expect(await delays()).toEqual({ count: 0, estimated: 0, late: 0 });
  });

  it('counts no baseline, and no message twice', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    here.old(contactId, 10);
    await house.sweep();
    expect((await delays()).count).toBe(0);
    house.messages(contactId, { count: 3 });
    for (let reads = 0; reads < 3; reads += 1) await house.polls.poll(A, contactId);
    expect((await delays()).count).toBe(3);
  });

  it('of a message that upstream shows a day late is counted apart', async () => {
    const { house } = here;
    const contactId = await watched();
    here.old(contactId, 2);
    await house.polls.poll(A, contactId);
    expect(await delays()).toEqual({ count: 0, estimated: 0, late: 2 });
  });

  it('without a timestamp is estimated from the read before; without that one, too, it is not counted', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ shownAt: now - 8_000 }, {}]);
    const { count, estimated, p50Ms = NaN } = await delays();
    expect({ count, estimated }).toEqual({ count: 1, estimated: 1 });
    expect(p50Ms).toBeGreaterThan(8_000 / 1.073);
  });

  it('is estimated, too, from a timestamp that lies far ahead, and while upstream never told its time', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ timestamp: now + HOUR_MS, shownAt: now - 8_000 }]);
    await here.house.redis.del(keyOf('facts'));
    await commitArrivals([{ timestamp: now - HOUR_MS, shownAt: now - 8_000 }]);
    expect(await delays()).toMatchObject({ count: 2, estimated: 2, late: 0 });
    expect((await delays()).p95Ms).toBeLessThan(HOUR_MS / 10);
  });

  it('goes by a clock difference that each read narrows down, for all its whole seconds', async () => {
    const { house } = here;
    house.control('settings', { clockSkewMs: 10_000 });
    const contactId = await watched();
    await eventually('the bounds of the difference are close', async () => {
      await house.polls.poll(A, contactId);
      const { low, high } = await facts();
      expect(Number(low)).toBeLessThanOrEqual(10_001);
      expect(Number(high)).toBeGreaterThanOrEqual(9_999);
      return Number(high) - Number(low) < 400;
    });
  });

  it('starts anew with the clock difference when upstream’s clock was set', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([], { upstreamDate: now - HOUR_MS });
    await commitArrivals([{ timestamp: now - HOUR_MS - 5_000 }], { upstreamDate: now - HOUR_MS });
    const { p50Ms = NaN } = await delays();
    expect(p50Ms).toBeGreaterThan((5_000 - 1_000) / 1.073);
    expect(p50Ms).toBeLessThan(60_000);
    // Set once more: the bounds are as far apart as before, and others.
    const low = -5 * HOUR_MS;
    await here.house.redis.hset(keyOf('facts'), { low, high: low + 1_001, at: await redisNow() });
    await commitArrivals([], { upstreamDate: now + HOUR_MS });
    expect(Math.abs(Number((await facts())['low']) - HOUR_MS)).toBeLessThan(60_000);
  });

  it('is forgotten after an hour', async () => {
    const { house } = here;
    await watched();
    const now = await redisNow();
    await commitArrivals([{ shownAt: now - 1_000 }]);
    await commitArrivals([{ shownAt: now - 1_000 }], { tookMs: HOUR_MS });
    expect((await delays()).count).toBe(1);
    const slots = await house.redis.keys(keyOf('delays:*'));
    expect(slots).toHaveLength(2);
    for (const slot of slots) {
      const life = await house.redis.pttl(slot);
      expect(life).toBeGreaterThan(HOUR_MS);
      expect(life).toBeLessThan(2 * HOUR_MS);
    }
  });

  it('is not recorded by a poll that is refused', async () => {
    const { house } = here;
    const contactId = await watched();
    house.messages(contactId);
    await Promise.all([1, 2, 3].map(() => house.polls.poll(A, contactId)));
    expect((await delays()).count).toBe(1);
  });
});

describe('the overview', () => {
  it('names the bounds of the interval that the worker goes by', async () => {
    expect(await here.house.store.overview(A)).not.toHaveProperty('interval');
    await watched();
    expect((await here.house.store.overview(A)).interval).toEqual({ minMs: 50, maxMs: 60_000 });
  });

  it('counts the elements that were given up', async () => {
    await watched();
    await commitArrivals([], { skipped: 2 });
    await commitArrivals([], { skipped: 1 });
    expect((await here.house.store.overview(A)).skipped).toBe(3);
  });

  it('shows how many deep reads are due, and for how long, and how many contacts change how often', async () => {
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
