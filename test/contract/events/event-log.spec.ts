import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Cursor,
  CursorExpiredError,
  eventToJson,
  type LoggedEvent,
  type NewEvent,
  EventLogReaderLeaseLostError,
  RedisEventConsumer,
  RedisEventLog,
  isLogPositionBefore,
} from '#events';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { RedisDeliveryStore } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const ACCOUNT = 'default';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let log: RedisEventLog;
let revision = 0;
/** Positions at which recreated consumer groups started. */
let restarts: string[] = [];

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
  prefix = newId('req');
  restarts = [];
  log = new RedisEventLog(redis, prefix);
});
afterEach(async () => {
  await closeRedis(redis);
});

const event = (more: Partial<NewEvent> = {}): NewEvent => ({
  type: 'message.received',
  contactId: 'c1',
  subject: 'message:m1',
  revision: ++revision,
  data: {},
  ...more,
});
const many = (count: number, more: Partial<NewEvent> = {}): NewEvent[] =>
  Array.from({ length: count }, () => event(more));
const all = async (account = ACCOUNT): Promise<LoggedEvent[]> =>
  (await log.read(account, undefined, 10_000)).events;

function consumerOf(name: string, leaseMs = 60_000, on = redis): RedisEventConsumer {
  return new RedisEventConsumer(on, prefix, ACCOUNT, name, leaseMs, (place) => restarts.push(place));
}
/** Takes events. Returns none if there are none or another consumer holds the lease. */
async function take(consumer: RedisEventConsumer, count: number): Promise<LoggedEvent[]> {
  const reading = await consumer.read(count);
  return reading.kind === 'events' ? reading.events : [];
}

async function dispatchAll(): Promise<void> {
  const consumer = consumerOf('one');
  for (let taken = await take(consumer, 1_000); taken.length > 0; taken = await take(consumer, 1_000)) {
    await consumer.acknowledge(taken);
  }
  await consumer.release();
}

describe('a read of the newest events', () => {
  it('returns the last events of the log, oldest first, and a cursor at the end of the log', async () => {
    expect((await log.readLast(ACCOUNT, 5)).events).toEqual([]);
    await log.append(ACCOUNT, many(1_203));
    const recorded = await all();
    for (const count of [1, 499, 500, 501, 1_000, 1_203, 2_000]) {
      const { events, next, hasMore } = await log.readLast(ACCOUNT, count);
      expect(events).toEqual(recorded.slice(-count));
      expect([next, hasMore]).toEqual([await log.end(ACCOUNT), false]);
    }
  });

  it('that is filtered examines only the last 5,000 events of the log', async () => {
    await log.append(ACCOUNT, many(2, { contactId: 'c2' }));
    await log.append(ACCOUNT, many(4_999));
    const of = async (contactId: string): Promise<number[]> =>
      (await log.readLast(ACCOUNT, 10, { contactId })).events.map(({ sequence }) => sequence);
    expect(await of('c2')).toEqual([2]);
    expect(await of('c1')).toEqual(Array.from({ length: 10 }, (_, i) => 4_990 + i));
  });
});

describe('an event’s id', () => {
  it('is the same each time the same change is appended, so that the change is recorded only once', async () => {
    const change = event();
    await log.append(ACCOUNT, [change, change]);
    await log.append(ACCOUNT, [change, event()]);
    const recorded = await all();
    expect(recorded.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(recorded[0]?.id).toMatch(/^evt_[0-9a-f]{40}$/);
  });

  it('depends on the account, type, subject and revision', async () => {
    const change = event({ revision: 1 });
    const others = [
      { type: 'message.sent' as const },
      { subject: 'message:m2' },
      { revision: 2 },
      { revision: 11 },
    ];
    await log.append(ACCOUNT, [change, ...others.map((other) => ({ ...change, ...other }))]);
    await log.append('other', [change]);
    expect(new Set([...(await all()), ...(await all('other'))].map(({ id }) => id)).size).toBe(6);
  });

  it('differs between two installations, even for the same change', async () => {
    const change = event();
    await log.append(ACCOUNT, [change]);
    const [before] = await all();
    await redis.flushall();
    await log.append(ACCOUNT, [change]);
    const [after] = await all();
    expect(after?.id).not.toBe(before?.id);
    expect(after?.sequence).toBe(1);
  });

  it('can be looked up only in the log of the account of the event', async () => {
    await log.append(ACCOUNT, many(3));
    const [, second] = await all();
    expect(await log.find(ACCOUNT, second?.id ?? '')).toEqual(second);
    expect(await log.find('other', second?.id ?? '')).toBeUndefined();
    expect(await log.find(ACCOUNT, 'evt_none')).toBeUndefined();
  });
});

describe('the sequence number of an event', () => {
  it('increases by one per contact for message and contact events, and per account for all other events', async () => {
    await log.append(ACCOUNT, [
      event(),
      event({ contactId: 'c2' }),
      event({ type: 'contact.updated' }),
      event({ type: 'send.accepted', subject: 'send:1' }),
      event({ type: 'upstream.recovered', subject: 'upstream' }),
      event(),
    ]);
    expect((await all()).map(({ type, contactId, sequence }) => [type, contactId, sequence])).toEqual([
      ['message.received', 'c1', 1],
      ['message.received', 'c2', 1],
      ['contact.updated', 'c1', 2],
      ['send.accepted', 'c1', 1],
      ['upstream.recovered', 'c1', 2],
      ['message.received', 'c1', 3],
    ]);
  });

  it('has no gap or duplicate after concurrent appends', async () => {
    await Promise.all(Array.from({ length: 50 }, () => log.append(ACCOUNT, many(4))));
    const sequences = (await all()).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  it('continues after a restart of Redis', async () => {
    await log.append(ACCOUNT, many(2));
    server.server.kill('SIGKILL');
    await server.server.exited;
    await server.server.restart();
    if (redis.status !== 'ready') await once(redis, 'ready');
    await log.append(ACCOUNT, many(1));
    expect((await all()).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });
});

describe('a read of the log', () => {
  it('continues at the cursor without missing or repeating an event', async () => {
    await log.append(ACCOUNT, many(1_203));
    const read: LoggedEvent[] = [];
    let page = await log.read(ACCOUNT, undefined, 250);
    for (read.push(...page.events); page.hasMore; read.push(...page.events))
      page = await log.read(ACCOUNT, page.next, 250);
    expect(read.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_203 }, (_, i) => i + 1));
    await log.append(ACCOUNT, many(1));
    expect((await log.read(ACCOUNT, page.next, 10)).events.map(({ sequence }) => sequence)).toEqual([1_204]);
  });

  it('reports that no more events follow, even if the last page is full', async () => {
    await log.append(ACCOUNT, many(500));
    expect(await log.read(ACCOUNT, undefined, 500)).toMatchObject({ hasMore: false });
    const page = await log.read(ACCOUNT, undefined, 499);
    expect(page.hasMore).toBe(true);
    expect(await log.read(ACCOUNT, page.next, 10)).toMatchObject({
      hasMore: false,
      events: [{ sequence: 500 }],
    });
  });

  it('filters events by type or contact, and moves the cursor past events that do not match', async () => {
    await log.append(ACCOUNT, [
      ...many(700),
      event({ contactId: 'c2' }),
      event({ type: 'send.failed', subject: 'send:1' }),
      event({ contactId: 'c2', type: 'message.sent' }),
    ]);
    const contact = await log.read(ACCOUNT, undefined, 10, { contactId: 'c2' });
    expect(contact.events.map(({ type }) => type)).toEqual(['message.received', 'message.sent']);
    const both = await log.read(ACCOUNT, undefined, 10, { types: ['send.*', 'message.sent'] });
    expect(both.events.map(({ type }) => type)).toEqual(['send.failed', 'message.sent']);
    expect(both.next).toEqual(await log.end(ACCOUNT));
    expect(await log.read(ACCOUNT, both.next, 10)).toMatchObject({ events: [], hasMore: false });
  });

  it('returns no events of other accounts', async () => {
    await log.append('other', many(1));
    expect(await all()).toEqual([]);
  });

  /** Calls `read`, and returns the number of entries of each reply of Redis. */
  async function sizesOfReplies(read: () => Promise<unknown>): Promise<number[]> {
    const sizes: number[] = [];
    for (const name of ['xrange', 'xrevrange'] as const) {
      const command = redis[name].bind(redis) as (...args: unknown[]) => Promise<unknown[]>;
      jest.spyOn(redis, name).mockImplementation((async (...args: unknown[]) => {
        const reply = await command(...args);
        sizes.push(reply.length);
        return reply;
      }) as never);
    }
    try {
      await read();
    } finally {
      jest.restoreAllMocks();
    }
    return sizes;
  }

  it('of large events requests few of them at a time, so that replies of Redis stay small', async () => {
    const data = { message: { text: 'x'.repeat(100_000) } };
    for (let n = 0; n < 4; n += 1) await log.append(ACCOUNT, many(25, { data }));
    const filter = { types: ['contact.*'] };
    const sizes = await sizesOfReplies(async () => {
      expect(await log.read(ACCOUNT, undefined, 1, filter)).toMatchObject({ events: [], hasMore: false });
      expect((await log.readLast(ACCOUNT, 1, filter)).events).toEqual([]);
    });
    const expected = [16, 19, 19, 19, 19, 8];
    expect(sizes).toEqual([...expected, ...expected]);
  });

  it('of a page of small events needs two Redis commands', async () => {
    await log.append(ACCOUNT, many(150));
    const sizes = await sizesOfReplies(async () => {
      const page = await log.read(ACCOUNT, undefined, 100);
      expect([page.events.length, page.hasMore]).toEqual([100, true]);
      expect((await log.readLast(ACCOUNT, 100)).events).toHaveLength(100);
    });
    expect(sizes).toEqual([16, 85, 16, 84]);
  });

  it('returns fewer events than requested if their data would exceed 8 million characters, but always at least one', async () => {
    const of = (length: number): { data: Record<string, unknown> } => ({
      data: { message: { text: 'x'.repeat(length) } },
    });
    await log.append(ACCOUNT, [event({ ...of(9_000_000), revision: 'large' })]);
    await log.append(ACCOUNT, many(9, of(1_000_000)));
    const sizes: number[] = [];
    for (let after: Cursor | undefined, hasMore = true; hasMore;) {
      const page = await log.read(ACCOUNT, after, 100);
      sizes.push(page.events.length);
      ({ hasMore, next: after } = page);
    }
    expect(sizes).toEqual([1, 7, 2]);
    expect((await log.readLast(ACCOUNT, 100)).events.map(({ sequence }) => sequence)).toEqual([
      4, 5, 6, 7, 8, 9, 10,
    ]);
  });

  it('that is filtered by one message examines at most 5,000 events, and then reports that more may follow', async () => {
    const others = Array.from({ length: 500 }, () => event({ data: { message: { id: 'm1' } } }));
    for (let i = 0; i < 10; i += 1)
      await log.append(
        ACCOUNT,
        others.map((one, n) => ({ ...one, revision: `${i}-${n}` })),
      );
    await log.append(ACCOUNT, [event({ data: { message: { id: 'm2' } }, revision: 'last' })]);
    const first = await log.read(ACCOUNT, undefined, 10, { messageId: 'm2' });
    expect(first).toMatchObject({ events: [], hasMore: true });
    const second = await log.read(ACCOUNT, first.next, 10, { messageId: 'm2' });
    expect(second).toMatchObject({ events: [{ sequence: 5_001 }], hasMore: false });
  });

  it.each([
    ['m/1 "quoted" \\ \u00e9 \u{1F44B}', undefined, true],
    ['m1', 'snd_1', true],
    ['m1', 'snd_2', false],
    ['m', undefined, false],
  ])(
    'that is filtered by message and send returns only events with exactly these ids (message %j, send %j)',
    async (messageId, sendId, isSelected) => {
      const id = messageId === 'm' ? 'm1' : messageId;
      await log.append(ACCOUNT, [
        event({ data: { message: null, sendId: 7 } }),
        event({ revision: 'other', data: { message: { id }, sendId: 'snd_1' } }),
      ]);
      const filter = { messageId, ...(sendId === undefined ? {} : { sendId }) };
      expect((await log.read(ACCOUNT, undefined, 10, filter)).events).toHaveLength(isSelected ? 1 : 0);
    },
  );

  it('that starts at the end of the log returns only later events, even if the log was empty', async () => {
    const empty = await log.end(ACCOUNT);
    expect(await log.read(ACCOUNT, empty, 10)).toEqual({ events: [], next: empty, hasMore: false });
    await log.append(ACCOUNT, many(2));
    expect((await log.read(ACCOUNT, empty, 10)).events).toHaveLength(2);
    const now = await log.end(ACCOUNT);
    expect((await log.read(ACCOUNT, now, 10)).events).toEqual([]);
    await log.append(ACCOUNT, many(1));
    expect((await log.read(ACCOUNT, now, 10)).events).toHaveLength(1);
  });

  it('is refused for a cursor that was returned before Redis lost the log', async () => {
    await log.append(ACCOUNT, many(1));
    const cursor = await log.end(ACCOUNT);
    await redis.flushall();
    await expect(log.read(ACCOUNT, cursor, 10)).rejects.toThrow(CursorExpiredError);
    await log.append(ACCOUNT, many(1));
    await expect(log.read(ACCOUNT, cursor, 10)).rejects.toThrow(CursorExpiredError);
  });
});

describe('the creation time of an event log', () => {
  it('is the time at which the first event was recorded', async () => {
    expect(await log.installedAt(ACCOUNT)).toBeUndefined();
    await log.append(ACCOUNT, many(1));
    const [seconds] = await redis.time();
    const at = (await log.installedAt(ACCOUNT))?.getTime() ?? 0;
    expect(Math.abs(at - Number(seconds) * 1000)).toBeLessThan(10_000);
  });
});

describe('an event', () => {
  it.each([
    'plain',
    '\u{1F468}\u200D\u{1F469}\u200D\u{1F467} שלום Cafe\u0301',
    'line\u2028and\u2029paragraph',
    'nul \u0000 and \u001f',
    'lone \ud800 and \udc00 surrogates',
    '"quotes" \\ back </script>',
  ])('has the same bytes at every read, and contains exactly the recorded text: %j', async (text) => {
    await log.append(ACCOUNT, [event({ data: { message: { text } } })]);
    const [first] = await all();
    const found = await log.find(ACCOUNT, first?.id ?? '');
    const json = first === undefined ? '' : eventToJson(first);
    expect(found === undefined ? undefined : eventToJson(found)).toBe(json);
    expect(Buffer.from(json).toString()).toBe(json);
    expect((JSON.parse(json) as { data: unknown }).data).toEqual({ message: { text } });
  });
});

describe('event retention', () => {
  const keep = { maxAgeMs: 3_600_000, maxCount: 1_000_000 };

  it('removes the oldest events and their ids when the log exceeds the maximum count', async () => {
    await log.append(ACCOUNT, many(10));
    const recorded = await all();
    await dispatchAll();
    expect(await log.trim(ACCOUNT, { ...keep, maxCount: 4 })).toBe(6);
    expect((await all()).map(({ sequence }) => sequence)).toEqual([7, 8, 9, 10]);
    expect(await log.find(ACCOUNT, recorded[0]?.id ?? '')).toBeUndefined();
    expect(await log.find(ACCOUNT, recorded[9]?.id ?? '')).toBeDefined();
    expect(await redis.hlen(`${prefix}:{${ACCOUNT}}:events:index`)).toBe(4);
    expect(await log.trim(ACCOUNT, { ...keep, maxCount: 4 })).toBe(0);
  });

  it('removes only events that are older than the maximum age', async () => {
    await log.append(ACCOUNT, many(3));
    await dispatchAll();
    expect(await log.trim(ACCOUNT, keep)).toBe(0);
    expect(await log.trim(ACCOUNT, { ...keep, maxAgeMs: -10_000 })).toBe(3);
    expect(await all()).toEqual([]);
  });

  it("calculates the age of an event from the time of the event, even if Redis' clock was ahead and then set back; so does the dispatch lag", async () => {
    const now = Date.now();
    // Positions never go back, so the log goes on from the time at which the clock was ahead.
    const entry = ['i', 'evt_1', 't', 'message.received', 'at', String(now - 7_200_000)];
    await redis.xadd(`${prefix}:{${ACCOUNT}}:events`, `${now + 86_400_000}-0`, ...entry);
    expect(await log.dispatchLagMs(ACCOUNT)).toBeGreaterThanOrEqual(7_200_000);
    await dispatchAll();
    expect(await log.trim(ACCOUNT, keep)).toBe(1);
  });

  it('never removes an event that is not yet dispatched', async () => {
    await log.append(ACCOUNT, many(10));
    const everything = { maxAgeMs: -10_000, maxCount: 0 };
    expect(await log.trim(ACCOUNT, everything)).toBe(0);
    const consumer = consumerOf('one');
    const taken = await take(consumer, 6);
    expect(taken).toHaveLength(6);
    expect(await log.trim(ACCOUNT, everything)).toBe(0);
    // After acknowledgements out of order, all events before the first unacknowledged one count as dispatched.
    await consumer.acknowledge([...taken.slice(0, 3), ...taken.slice(4)]);
    expect(await log.trim(ACCOUNT, everything)).toBe(3);
    await consumer.acknowledge(taken.slice(3, 4));
    expect(await log.trim(ACCOUNT, everything)).toBe(3);
    expect((await all()).map(({ sequence }) => sequence)).toEqual([7, 8, 9, 10]);
  });

  it('invalidates a cursor only if an event after the cursor was removed, and does not change sequence numbers', async () => {
    const start = await log.end(ACCOUNT);
    await log.append(ACCOUNT, many(5));
    const third = (await log.read(ACCOUNT, undefined, 3)).next;
    const end = await log.end(ACCOUNT);
    await dispatchAll();
    await log.trim(ACCOUNT, { ...keep, maxCount: 2 });
    await expect(log.read(ACCOUNT, start, 10)).rejects.toThrow(CursorExpiredError);
    expect((await log.read(ACCOUNT, third, 10)).events.map(({ sequence }) => sequence)).toEqual([4, 5]);
    await log.trim(ACCOUNT, { ...keep, maxCount: 0 });
    await expect(log.read(ACCOUNT, third, 10)).rejects.toThrow(CursorExpiredError);
    expect(await log.end(ACCOUNT)).toEqual(end);
    await log.append(ACCOUNT, many(1));
    expect((await log.read(ACCOUNT, end, 10)).events.map(({ sequence }) => sequence)).toEqual([6]);
  });

  it('during a read invalidates the cursor of the read if an event after the cursor was removed', async () => {
    const start = await log.end(ACCOUNT);
    await log.append(ACCOUNT, many(5));
    await dispatchAll();
    const xrange = redis.xrange.bind(redis) as unknown as (...range: unknown[]) => Promise<unknown>;
    const reads = jest.spyOn(redis, 'xrange').mockImplementationOnce((async (...range: unknown[]) => {
      await log.trim(ACCOUNT, { ...keep, maxCount: 2 });
      return xrange(...range);
    }) as never);
    await expect(log.read(ACCOUNT, start, 10)).rejects.toThrow(CursorExpiredError);
    expect(reads).toHaveBeenCalled();
    expect((await all()).map(({ sequence }) => sequence)).toEqual([4, 5]);
  });

  it('that removes all events leaves the log readable: a read without a cursor returns a valid cursor', async () => {
    await log.append(ACCOUNT, many(5));
    await dispatchAll();
    await log.trim(ACCOUNT, { ...keep, maxCount: 0 });
    const { events, next } = await log.read(ACCOUNT, undefined, 10);
    expect(events).toEqual([]);
    await log.append(ACCOUNT, many(1));
    expect((await log.read(ACCOUNT, next, 10)).events.map(({ sequence }) => sequence)).toEqual([6]);
  });
});

describe('consumers of the log', () => {
  const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);
  const mark = (): Promise<string | null> =>
    redis.hget(`${prefix}:{${ACCOUNT}}:events:counters`, 'dispatched');
  /** Returns true if the holder of this lease may still store deliveries. */
  async function mayStore(token: string): Promise<boolean> {
    const deliveries = new RedisDeliveryStore(redis, prefix);
    const delivery = {
      endpointId: 'whk_none',
      event: { id: 'evt_x', type: 'webhook.test' as const, position: '1-1' },
    };
    try {
      await deliveries.create(ACCOUNT, [delivery], { token, leaseMs: 60_000 });
      return true;
    } catch (error) {
      if (error instanceof EventLogReaderLeaseLostError) return false;
      throw error;
    }
  }

  it('are refused while another consumer holds the lease; the refusal says how long that lease is still valid', async () => {
    const [one, two] = [consumerOf('one'), consumerOf('two')];
    await log.append(ACCOUNT, many(10));
    expect(sequences(await take(one, 4))).toEqual([1, 2, 3, 4]);
    const elsewhere = await two.read(4);
    expect(elsewhere).toMatchObject({ kind: 'elsewhere' });
    expect(elsewhere.kind === 'elsewhere' ? elsewhere.forMs : 0).toBeGreaterThan(50_000);
    await one.release();
    // Unacknowledged events come first.
    expect(sequences(await take(two, 4))).toEqual([1, 2, 3, 4]);
    expect(await one.read(4)).toMatchObject({ kind: 'elsewhere' });
  });

  it('receive fewer large events at a time than small ones, but each of them once and in order', async () => {
    await log.append(ACCOUNT, many(1, { data: { text: 'x'.repeat(3_000_000) } }));
    // Small events before large events must not cause one read to return all large events.
    await log.append(ACCOUNT, many(30));
    for (let n = 0; n < 3; n += 1)
      await log.append(ACCOUNT, many(20, { data: { text: 'x'.repeat(100_000) } }));
    const one = consumerOf('one');
    const received: number[] = [];
    for (;;) {
      const found = await one.read(500);
      if (found.kind !== 'events') break;
      // A consumer that did not acknowledge its events receives them again, also in small portions.
      const again = await take(consumerOf('one'), 500);
      expect(sequences(again)).toEqual(sequences(found.events));
      expect(found.events.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(5_000_000);
      received.push(...sequences(found.events));
      await one.acknowledge(found.events);
    }
    expect(received).toEqual(Array.from({ length: 91 }, (_, n) => n + 1));
  });

  it('receive events that were recorded before the first consumer existed', async () => {
    await log.append(ACCOUNT, many(3));
    expect(sequences(await take(consumerOf('one'), 10))).toEqual([1, 2, 3]);
    expect(restarts).toEqual([]);
  });

  it('create no log for an account without events, and receive all events that are recorded afterwards', async () => {
    const one = consumerOf('one');
    expect(await one.read(10)).toEqual({ kind: 'nothing' });
    expect(await redis.exists(`${prefix}:{${ACCOUNT}}:events`)).toBe(0);
    await log.append(ACCOUNT, many(3));
    expect(sequences(await take(one, 10))).toEqual([1, 2, 3]);
    expect(restarts).toEqual([]);
  });

  it('first receive, in order, the events that a crashed consumer did not acknowledge, once the lease of that consumer has expired', async () => {
    const dead = consumerOf('dead', 200);
    await log.append(ACCOUNT, many(6));
    const left = await take(dead, 4);
    await dead.acknowledge(left.slice(0, 1));
    const heir = consumerOf('heir');
    expect(await heir.read(10)).toMatchObject({ kind: 'elsewhere' });
    const claimed = await eventually('the lease of the dead consumer expires', async () => {
      const read = await heir.read(10);
      return read.kind === 'events' && read.events;
    });
    expect(sequences(claimed)).toEqual([2, 3, 4]);
    await heir.acknowledge(claimed);
    expect(sequences(await take(heir, 10))).toEqual([5, 6]);
  });

  it('that were paused cannot store deliveries after their lease has expired or another consumer has taken over', async () => {
    const paused = consumerOf('paused', 100);
    await log.append(ACCOUNT, many(1));
    await take(paused, 1);
    expect(await mayStore('successor')).toBe(false);
    // Simulates that the lease expires.
    await redis.del(`${prefix}:{${ACCOUNT}}:events:reader`);
    expect(await mayStore('paused')).toBe(false);
    await take(consumerOf('successor'), 1);
    expect(await mayStore('paused')).toBe(false);
    expect(await mayStore('successor')).toBe(true);
  });

  it('continue after the last dispatched event if Redis loses their consumer group, and report the loss once', async () => {
    const one = consumerOf('one');
    await log.append(ACCOUNT, many(6));
    const taken = await take(one, 4);
    await one.acknowledge(taken.slice(0, 2));
    await redis.xgroup('DESTROY', `${prefix}:{${ACCOUNT}}:events`, 'dispatch');
    const again = await take(one, 10);
    expect(sequences(again)).toEqual([3, 4, 5, 6]);
    // Any position between the two events is right: the mark stands right before the first undispatched event.
    const [restart = ''] = restarts;
    expect(isLogPositionBefore(restart, taken[1]?.position ?? '')).toBe(false);
    expect(isLogPositionBefore(restart, taken[2]?.position ?? '')).toBe(true);
    await one.acknowledge(again);
    expect(await one.read(10)).toEqual({ kind: 'nothing' });
    expect(await mark()).toBe(again[3]?.position);
    expect(restarts).toHaveLength(1);
  });

  it('start at the first event of the new log after Redis was emptied', async () => {
    const one = consumerOf('one');
    await log.append(ACCOUNT, many(3));
    await one.acknowledge(await take(one, 10));
    await redis.flushall();
    await log.append(ACCOUNT, many(2));
    expect(sequences(await take(one, 10))).toEqual([1, 2]);
  });
});
