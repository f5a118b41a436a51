import { setTimeout as pause } from 'node:timers/promises';
import { NO_ROW_UPDATE } from '#conversations';
import { describe, expect, it } from '@jest/globals';
import type { DetectionDelay, FeedSource, PollReport } from '#feed';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './feed-harness.js';
import { NUMBER, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();
const HOUR_MS = 3_600_000;
/** Time that upstream takes for a page, in milliseconds. Three pages take longer than the error of the `Date` header. */
const SLOW_PAGE_MS = 500;

/** Returns the time by Redis' clock, in milliseconds since 1970. */
const redisNow = async (): Promise<number> => (await here.harness.store.contactListSnapshot(ACCOUNT)).now;

const delays = async (): Promise<DetectionDelay> =>
  (await here.harness.store.overview(ACCOUNT)).detectionDelay;

const keyOf = (name: string): string => `${here.harness.prefix}:{${ACCOUNT}}:polls:${name}`;

/** Returns the stored bounds of the clock difference and of the interval. */
const facts = (): Promise<Record<string, string>> => here.harness.redis.hgetall(keyOf('facts'));

/** Returns a contact without messages, read so often that the clock difference is known to less than a second. */
async function watched(): Promise<string> {
  const contactId = here.harness.createContact(NUMBER);
  await here.harness.sweep();
  await here.harness.polls.poll(ACCOUNT, contactId);
  return contactId;
}

/** Commits arrivals, as a poll that began `tookMs` milliseconds ago. */
async function commitArrivals(
  arrivals: PollReport['arrivals'],
  { tookMs = 0, ...more }: Partial<PollReport> & { tookMs?: number } = {},
): Promise<void> {
  const { store } = here.harness;
  const [contactId = ''] = [...(await store.contactListSnapshot(ACCOUNT)).contacts.keys()];
  const state = await store.contactState(ACCOUNT, contactId);
  if (state === undefined) throw new Error('contact not found');
  const done = await store.commitPoll(ACCOUNT, contactId, {
    ...{
      version: state.version,
      redisRun: state.redisRun,
      expediteRequests: state.expediteRequests,
      deletesSnapshots: false,
    },
    ...{ known: new Map(), events: [], pollState: state.pollState, bucket: 1, dueInMs: 1_000, unreadable: 0 },
    ...{ extension: state.extension, baseline: 'unchanged', deep: 'unchanged' },
    numbers: [],
    row: NO_ROW_UPDATE,
    report: {
      startedAt: state.now - tookMs,
      arrivals,
      interval: { min: 50, max: 60_000 },
      ...more,
    },
  });
  expect(done).toBeDefined();
}

describe.each([
  ['equal to Redis’ clock', 0],
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('the detection delay if upstream’s clock is %s', (_, clockSkewMs) => {
  it('is the time from the message’s timestamp to the commit, corrected for the clock difference', async () => {
    const { harness } = here;
    harness.control('settings', { clockSkewMs });
    const contactId = await watched();
    const stampedAt = (await redisNow()) - 20_000;
    harness.createMessages(contactId, { timestamp: stampedAt + clockSkewMs });
    await harness.polls.poll(ACCOUNT, contactId);
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

  it('is measured once for each new message, and not for messages of a baseline', async () => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER);
    here.createOldMessages(contactId, 10);
    await harness.sweep();
    expect((await delays()).count).toBe(0);
    harness.createMessages(contactId, { count: 3 });
    for (let reads = 0; reads < 3; reads += 1) await harness.polls.poll(ACCOUNT, contactId);
    expect((await delays()).count).toBe(3);
  });

  it('is also measured for a new message that only a read of older messages finds', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    harness.createMessages(contactId, { count: 41 });
    await here.readAll(contactId);
    expect((await delays()).count).toBe(41);
    harness.createMessages(contactId, { timestamp: (await redisNow()) - HOUR_MS / 2 });
    await harness.polls.poll(ACCOUNT, contactId);
    expect((await delays()).count).toBe(41);
    await here.readAll(contactId);
    const { count, estimated } = await delays();
    expect({ count, estimated }).toEqual({ count: 42, estimated: 0 });
  });

  it('is corrected by bounds of the clock difference that contain the true difference, even if upstream replies slowly during a read of older messages', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(75);
    const slow: FeedSource = {
      ...harness.source,
      listMessages: async (...parameters) => {
        await pause(SLOW_PAGE_MS);
        return harness.source.listMessages(...parameters);
      },
    };
    await harness.redis.del(keyOf('facts'));
    harness.control('settings', { limitIgnored: true });
    await harness.poller(slow, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
    const { low, high } = await facts();
    // The clocks are the same.
    expect(Number(low)).toBeLessThanOrEqual(0);
    expect(Number(high)).toBeGreaterThanOrEqual(0);
  });

  it('is not measured for a message more than a day old, which is counted as late instead', async () => {
    const { harness } = here;
    const contactId = await watched();
    here.createOldMessages(contactId, 2);
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await delays()).toEqual({ count: 0, estimated: 0, late: 2 });
  });

  it('of a message without a timestamp is estimated from the previous read, and is not measured without a previous read', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ estimatedAt: now - 8_000 }, {}]);
    const { count, estimated, p50Ms = NaN } = await delays();
    expect({ count, estimated }).toEqual({ count: 1, estimated: 1 });
    expect(p50Ms).toBeGreaterThan(8_000 / 1.073);
  });

  it('is estimated if the timestamp is far in the future, or while the clock difference is unknown', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([{ timestamp: now + HOUR_MS, estimatedAt: now - 8_000 }]);
    await here.harness.redis.del(keyOf('facts'));
    await commitArrivals([{ timestamp: now - HOUR_MS, estimatedAt: now - 8_000 }]);
    expect(await delays()).toMatchObject({ count: 2, estimated: 2, late: 0 });
    expect((await delays()).p95Ms).toBeLessThan(HOUR_MS / 10);
  });

  it('is corrected by the clock difference, which repeated polls determine to within half a second', async () => {
    const { harness } = here;
    harness.control('settings', { clockSkewMs: 10_000 });
    const contactId = await watched();
    await eventually('the bounds of the clock difference are close', async () => {
      await harness.polls.poll(ACCOUNT, contactId);
      const { low, high } = await facts();
      expect(Number(low)).toBeLessThanOrEqual(10_001);
      expect(Number(high)).toBeGreaterThanOrEqual(9_999);
      return Number(high) - Number(low) < 400;
    });
    await commitArrivals([{ timestamp: (await redisNow()) + 10_000 - 5_000 }]);
    const { count, estimated, p50Ms = NaN } = await delays();
    expect({ count, estimated }).toEqual({ count: 1, estimated: 0 });
    // The clock difference is known to 400 ms. A bucket is off by at most 7.3 %.
    expect(p50Ms).toBeGreaterThan((5_000 - 400) / 1.073);
    expect(p50Ms).toBeLessThan(7_500);
  });

  it('is computed with a newly measured clock difference after upstream’s clock was changed', async () => {
    await watched();
    const now = await redisNow();
    await commitArrivals([], { upstreamDate: now - HOUR_MS });
    await commitArrivals([{ timestamp: now - HOUR_MS - 5_000 }], { upstreamDate: now - HOUR_MS });
    const { p50Ms = NaN } = await delays();
    expect(p50Ms).toBeGreaterThan((5_000 - 1_000) / 1.073);
    expect(p50Ms).toBeLessThan(60_000);
    // Upstream's clock is set again: the bounds have the same distance as before but other values.
    const low = -5 * HOUR_MS;
    await here.harness.redis.hset(keyOf('facts'), { low, high: low + 1_001, at: await redisNow() });
    await commitArrivals([], { upstreamDate: now + HOUR_MS });
    expect(Math.abs(Number((await facts())['low']) - HOUR_MS)).toBeLessThan(60_000);
  });

  it('is computed over the last hour; the stored data expires within two hours', async () => {
    const { harness } = here;
    await watched();
    const now = await redisNow();
    await commitArrivals([{ estimatedAt: now - 1_000 }]);
    await commitArrivals([{ estimatedAt: now - 1_000 }], { tookMs: HOUR_MS });
    expect((await delays()).count).toBe(1);
    const slots = await harness.redis.keys(keyOf('delays:*'));
    expect(slots).toHaveLength(2);
    for (const slot of slots) {
      const ttl = await harness.redis.pttl(slot);
      expect(ttl).toBeGreaterThan(HOUR_MS);
      expect(ttl).toBeLessThan(2 * HOUR_MS);
    }
  });

  it('is recorded once if several concurrent polls find the same message', async () => {
    const { harness } = here;
    const contactId = await watched();
    harness.createMessages(contactId);
    await Promise.all([1, 2, 3].map(() => harness.polls.poll(ACCOUNT, contactId)));
    expect((await delays()).count).toBe(1);
  });
});

describe('the polling status of an account', () => {
  it('contains the minimum and maximum poll interval of the worker', async () => {
    expect(await here.harness.store.overview(ACCOUNT)).not.toHaveProperty('interval');
    await watched();
    expect((await here.harness.store.overview(ACCOUNT)).interval).toEqual({ minMs: 50, maxMs: 60_000 });
  });

  it('counts the unreadable elements that polls skipped', async () => {
    await watched();
    await commitArrivals([], { skipped: 2 });
    await commitArrivals([], { skipped: 1 });
    expect((await here.harness.store.overview(ACCOUNT)).skipped).toBe(3);
  });

  it('contains the number of overdue reads of older messages, how late they are, and the histogram of message rates', async () => {
    const { harness } = here;
    await watched();
    const now = await redisNow();
    await harness.redis.zadd(keyOf('deep'), now - 5_000, 'a', now + 60_000, 'b');
    await harness.redis.del(keyOf('rates'));
    await harness.redis.hset(keyOf('rates'), { 0: 3, 12: 1 });
    const { deep, rates } = await harness.store.overview(ACCOUNT);
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
