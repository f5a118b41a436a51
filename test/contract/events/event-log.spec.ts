import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CursorExpiredError,
  eventToJson,
  type LoggedEvent,
  type NewEvent,
  RedisEventConsumer,
  RedisEventLog,
} from '#events';
import { closeRedis, newId, openRedis, parseRedisAddress, pause, type RedisClient } from '#platform';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const A = 'default';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let log: RedisEventLog;
let revision = 0;

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
const all = async (account = A): Promise<LoggedEvent[]> =>
  (await log.read(account, undefined, 10_000)).events;

async function dispatchAll(): Promise<void> {
  const consumer = new RedisEventConsumer(redis, prefix, A, 'one', 60_000);
  await consumer.take(1, 1);
  for (let taken = await consumer.take(1_000, 1); taken.length > 0; taken = await consumer.take(1_000, 1)) {
    await consumer.acknowledge(taken);
  }
}

describe('an event’s id', () => {
  it('is the same for the same change, which is then recorded once', async () => {
    const change = event();
    await log.append(A, [change, change]);
    await log.append(A, [change, event()]);
    const recorded = await all();
    expect(recorded.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(recorded[0]?.id).toMatch(/^evt_[0-9a-f]{40}$/);
  });

  it('differs with the account, the type, the subject and the revision', async () => {
    const change = event({ revision: 1 });
    const others = [
      { type: 'message.sent' as const },
      { subject: 'message:m2' },
      { revision: 2 },
      { revision: 11 },
    ];
    await log.append(A, [change, ...others.map((other) => ({ ...change, ...other }))]);
    await log.append('other', [change]);
    expect(new Set([...(await all()), ...(await all('other'))].map(({ id }) => id)).size).toBe(6);
  });

  it('is another one in another installation', async () => {
    const change = event();
    await log.append(A, [change]);
    const [before] = await all();
    await redis.flushall();
    await log.append(A, [change]);
    const [after] = await all();
    expect(after?.id).not.toBe(before?.id);
    expect(after?.sequence).toBe(1);
  });

  it('finds it, as long as it is kept', async () => {
    await log.append(A, many(3));
    const [, second] = await all();
    expect(await log.find(A, second?.id ?? '')).toEqual(second);
    expect(await log.find('other', second?.id ?? '')).toBeUndefined();
    expect(await log.find(A, 'evt_none')).toBeUndefined();
  });
});

describe('the sequence', () => {
  it('counts by one per contact for its messages and itself, and per account for all else', async () => {
    await log.append(A, [
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

  it('has no gap and no double, however many append at once', async () => {
    await Promise.all(Array.from({ length: 50 }, () => log.append(A, many(4))));
    const sequences = (await all()).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  it('goes on over a restart of Redis', async () => {
    await log.append(A, many(2));
    server.server.kill('SIGKILL');
    await server.server.exited;
    await server.server.restart();
    if (redis.status !== 'ready') await once(redis, 'ready');
    await log.append(A, many(1));
    expect((await all()).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });
});

describe('reading', () => {
  it('goes from cursor to cursor without missing or repeating one', async () => {
    await log.append(A, many(1_203));
    const read: LoggedEvent[] = [];
    let page = await log.read(A, undefined, 250);
    for (read.push(...page.events); page.hasMore; read.push(...page.events))
      page = await log.read(A, page.next, 250);
    expect(read.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_203 }, (_, i) => i + 1));
    await log.append(A, many(1));
    expect((await log.read(A, page.next, 10)).events.map(({ sequence }) => sequence)).toEqual([1_204]);
  });

  it('says whether more is there: not at the end, though the page is full', async () => {
    await log.append(A, many(500));
    expect(await log.read(A, undefined, 500)).toMatchObject({ hasMore: false });
    const page = await log.read(A, undefined, 499);
    expect(page.hasMore).toBe(true);
    expect(await log.read(A, page.next, 10)).toMatchObject({ hasMore: false, events: [{ sequence: 500 }] });
  });

  it('filters by type and contact, and moves on over what it passes over', async () => {
    await log.append(A, [
      ...many(700),
      event({ contactId: 'c2' }),
      event({ type: 'send.failed', subject: 'send:1' }),
      event({ contactId: 'c2', type: 'message.sent' }),
    ]);
    const contact = await log.read(A, undefined, 10, { contactId: 'c2' });
    expect(contact.events.map(({ type }) => type)).toEqual(['message.received', 'message.sent']);
    const both = await log.read(A, undefined, 10, { types: ['send.*', 'message.sent'] });
    expect(both.events.map(({ type }) => type)).toEqual(['send.failed', 'message.sent']);
    expect(both.next).toEqual(await log.end(A));
    expect(await log.read(A, both.next, 10)).toMatchObject({ events: [], hasMore: false });
  });

  it('of one account shows nothing of another', async () => {
    await log.append('other', many(1));
    expect(await all()).toEqual([]);
  });

  it('from now on begins at the end, also of an empty log', async () => {
    const empty = await log.end(A);
    expect(await log.read(A, empty, 10)).toEqual({ events: [], next: empty, hasMore: false });
    await log.append(A, many(2));
    expect((await log.read(A, empty, 10)).events).toHaveLength(2);
    const now = await log.end(A);
    expect((await log.read(A, now, 10)).events).toEqual([]);
    await log.append(A, many(1));
    expect((await log.read(A, now, 10)).events).toHaveLength(1);
  });

  it('with a cursor of an earlier installation is refused', async () => {
    await log.append(A, many(1));
    const cursor = await log.end(A);
    await redis.flushall();
    await expect(log.read(A, cursor, 10)).rejects.toThrow(CursorExpiredError);
    await log.append(A, many(1));
    await expect(log.read(A, cursor, 10)).rejects.toThrow(CursorExpiredError);
  });

  it('knows since when this installation records', async () => {
    expect(await log.installedAt(A)).toBeUndefined();
    await log.append(A, many(1));
    const [seconds] = await redis.time();
    const at = (await log.installedAt(A))?.getTime() ?? 0;
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
  ])('is the same bytes every time, and says what was given: %j', async (text) => {
    await log.append(A, [event({ data: { message: { text } } })]);
    const [first] = await all();
    const found = await log.find(A, first?.id ?? '');
    const json = first === undefined ? '' : eventToJson(first);
    expect(found === undefined ? undefined : eventToJson(found)).toBe(json);
    expect(Buffer.from(json).toString()).toBe(json);
    expect((JSON.parse(json) as { data: unknown }).data).toEqual({ message: { text } });
  });
});

describe('retention', () => {
  const keep = { maxAgeMs: 3_600_000, maxCount: 1_000_000 };

  it('by number removes the oldest, and their ids', async () => {
    await log.append(A, many(10));
    const recorded = await all();
    await dispatchAll();
    expect(await log.trim(A, { ...keep, maxCount: 4 })).toBe(6);
    expect((await all()).map(({ sequence }) => sequence)).toEqual([7, 8, 9, 10]);
    expect(await log.find(A, recorded[0]?.id ?? '')).toBeUndefined();
    expect(await log.find(A, recorded[9]?.id ?? '')).toBeDefined();
    expect(await redis.hlen(`${prefix}:{${A}}:events:index`)).toBe(4);
    expect(await log.trim(A, { ...keep, maxCount: 4 })).toBe(0);
  });

  it('by age removes what is older, and nothing younger', async () => {
    await log.append(A, many(3));
    await dispatchAll();
    expect(await log.trim(A, keep)).toBe(0);
    expect(await log.trim(A, { ...keep, maxAgeMs: -10_000 })).toBe(3);
    expect(await all()).toEqual([]);
  });

  it('never passes what is not yet dispatched', async () => {
    await log.append(A, many(10));
    const everything = { maxAgeMs: -10_000, maxCount: 0 };
    expect(await log.trim(A, everything)).toBe(0);
    const consumer = new RedisEventConsumer(redis, prefix, A, 'one', 60_000);
    await consumer.take(1, 1);
    const taken = await consumer.take(6, 1);
    expect(taken).toHaveLength(6);
    expect(await log.trim(A, everything)).toBe(0);
    // Acknowledged out of order: everything below the first that is open is dispatched.
    await consumer.acknowledge([...taken.slice(0, 3), ...taken.slice(4)]);
    expect(await log.trim(A, everything)).toBe(3);
    await consumer.acknowledge(taken.slice(3, 4));
    expect(await log.trim(A, everything)).toBe(3);
    expect((await all()).map(({ sequence }) => sequence)).toEqual([7, 8, 9, 10]);
  });

  it('lets cursors before it expire, and the others live; what comes later goes on counting', async () => {
    const start = await log.end(A);
    await log.append(A, many(5));
    const third = (await log.read(A, undefined, 3)).next;
    const end = await log.end(A);
    await dispatchAll();
    await log.trim(A, { ...keep, maxCount: 2 });
    await expect(log.read(A, start, 10)).rejects.toThrow(CursorExpiredError);
    expect((await log.read(A, third, 10)).events.map(({ sequence }) => sequence)).toEqual([4, 5]);
    await log.trim(A, { ...keep, maxCount: 0 });
    await expect(log.read(A, third, 10)).rejects.toThrow(CursorExpiredError);
    expect(await log.end(A)).toEqual(end);
    await log.append(A, many(1));
    expect((await log.read(A, end, 10)).events.map(({ sequence }) => sequence)).toEqual([6]);
  });
});

describe('consumers', () => {
  const consumerOf = (name: string, claimAfterMs = 60_000): RedisEventConsumer =>
    new RedisEventConsumer(redis, prefix, A, name, claimAfterMs);
  const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);

  it('share the log: each event goes to one of them', async () => {
    const [one, two] = [consumerOf('one'), consumerOf('two')];
    await one.take(1, 1);
    await log.append(A, many(10));
    const taken = [await one.take(4, 1), await two.take(4, 1), await one.take(4, 1)];
    expect(taken.map(sequences)).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
    ]);
  });

  it('get what was recorded before the first of them came', async () => {
    await log.append(A, many(3));
    const one = consumerOf('one');
    await one.take(10, 1);
    expect(sequences(await one.take(10, 1))).toEqual([1, 2, 3]);
  });

  it('get what a dead one left, and not what a living one has just taken', async () => {
    const dead = consumerOf('dead');
    await dead.take(1, 1);
    await log.append(A, many(4));
    const left = await dead.take(10, 1);
    await dead.acknowledge(left.slice(0, 1));
    expect(await consumerOf('patient', 60_000).take(10, 1)).toEqual([]);
    await pause(30);
    const heir = consumerOf('heir', 20);
    const claimed = await heir.take(10, 1);
    expect(sequences(claimed)).toEqual([2, 3, 4]);
    await heir.acknowledge(claimed);
    expect(await consumerOf('late', 0).take(10, 1)).toEqual([]);
  });

  it('of a lost group start again at the mark: nothing is missed', async () => {
    const one = consumerOf('one');
    await one.take(1, 1);
    await log.append(A, many(6));
    const taken = await one.take(4, 1);
    await one.acknowledge(taken.slice(0, 2));
    await redis.xgroup('DESTROY', `${prefix}:{${A}}:events`, 'dispatch');
    expect(await one.take(10, 1)).toEqual([]);
    expect(sequences(await one.take(10, 1))).toEqual([3, 4, 5, 6]);
  });

  it('start anew after Redis was emptied', async () => {
    const one = consumerOf('one');
    await one.take(1, 1);
    await log.append(A, many(3));
    await one.acknowledge(await one.take(10, 1));
    await redis.flushall();
    await log.append(A, many(2));
    await one.take(10, 1);
    expect(sequences(await one.take(10, 1))).toEqual([1, 2]);
  });

  it.each(['FLUSHALL', 'XGROUP DESTROY'])('that wait are not broken by %s', async (what) => {
    const waiting = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
    try {
      const one = new RedisEventConsumer(waiting, prefix, A, 'one', 60_000);
      await one.take(1, 1);
      const taken = one.take(10, 5_000);
      while (!/blocked_clients:1\b/.test(await redis.info('clients'))) await pause(5);
      if (what === 'FLUSHALL') await redis.flushall();
      else await redis.xgroup('DESTROY', `${prefix}:{${A}}:events`, 'dispatch');
      await log.append(A, many(1));
      expect(
        sequences([...(await taken), ...(await one.take(10, 1_000)), ...(await one.take(10, 1))]),
      ).toEqual([1]);
    } finally {
      waiting.disconnect();
    }
  });

  it('see an event that comes while they wait', async () => {
    const waiting = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
    try {
      const one = new RedisEventConsumer(waiting, prefix, A, 'one', 60_000);
      await one.take(1, 1);
      const taken = one.take(10, 5_000);
      await log.append(A, many(1));
      expect(sequences(await taken)).toEqual([1]);
    } finally {
      waiting.disconnect();
    }
  });
});
