import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient, systemClock } from '#platform';
import {
  IdempotencyInProgressError,
  IdempotencyKeyReusedError,
  type RelayJobs,
  RedisRelayStore,
  SendNotCancellableError,
  StoredSendIntake,
} from '#relay';
import type { Transition } from '../../../libs/relay/src/relay-store.js';
import { type Happening, ImpossiblePassageError } from '../../../libs/relay/src/send-life.js';
import { settled, type SendOrder, type SendRecord } from '../../../libs/relay/src/send-record.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { until } from '../platform/until.js';

const A = 'default';
const NUMBER = '+15551234567';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let store: RedisRelayStore;
let log: RedisEventLog;
let intake: StoredSendIntake;
let woken: string[];

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
  store = new RedisRelayStore(redis, prefix, systemClock);
  log = new RedisEventLog(redis, prefix);
  woken = [];
  const jobs: RelayJobs = {
    wake: (_, lane) => {
      woken.push(lane);
      return Promise.resolve();
    },
  };
  intake = new StoredSendIntake(store, jobs, systemClock);
});
afterEach(async () => {
  await closeRedis(redis);
});

const order = (more: Partial<SendOrder> = {}): SendOrder => ({
  id: newId('snd'),
  createdAt: Date.now(),
  phoneNumber: NUMBER,
  type: 'text',
  message: 'Hi',
  ...more,
});
const CLAIM = { contactId: 'c1', messageId: 'm1' };
const request = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };
const key = (name: string, fingerprint = 'a1'): { key: string; fingerprint: string } => ({
  key: name,
  fingerprint,
});

async function insert(more: Partial<SendOrder> = {}): Promise<SendRecord> {
  const wanted = order(more);
  await store.insert(A, wanted);
  return found(wanted.id);
}
async function found(id: string): Promise<SendRecord> {
  const record = await store.find(A, id);
  if (record === undefined) throw new Error('no such send');
  return record;
}
const step = (
  record: SendRecord,
  happening: Happening,
  more: Partial<Transition> = {},
): Promise<SendRecord | undefined> =>
  store.transit(A, record, { happening, state: settled(record.state), ...more });
/** Step after step, each of which must be taken. */
async function live(record: SendRecord, ...happenings: Happening[]): Promise<SendRecord> {
  let current = record;
  for (const happening of happenings) {
    const next = await step(current, happening);
    if (next === undefined) throw new Error(`${happening} was not taken`);
    current = next;
  }
  return current;
}
const eventTypes = async (): Promise<string[]> =>
  (await log.read(A, undefined, 1_000)).events.map(({ type }) => type);
const keys = (): Promise<string[]> => redis.keys(`${prefix}:*`);

describe('accepting a send', () => {
  it('stores it, in its lane, and wakes the lane', async () => {
    const { id, replayed } = await intake.accept(A, { ...request, reference: 'r', metadata: { a: [1] } });
    expect(replayed).toBe(false);
    const send = await intake.find(A, id);
    expect(send).toMatchObject({
      id,
      status: 'queued',
      reference: 'r',
      metadata: { a: [1] },
      attempts: [],
      messageId: null,
    });
    expect(await intake.find('other', id)).toBeUndefined();
    expect((await store.head(A, NUMBER))?.record.order.id).toBe(id);
    expect(await store.dueLanes(A, 10)).toEqual([NUMBER]);
    expect(woken).toEqual([NUMBER]);
  });

  it('keeps the order of acceptance in each lane', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) ids.push((await intake.accept(A, request)).id);
    const other = await intake.accept(A, { ...request, phoneNumber: '+15550009999' });
    expect((await store.head(A, '+15550009999'))?.record.order.id).toBe(other.id);
    const relayed: string[] = [];
    for (let head = await store.head(A, NUMBER); head !== undefined; head = await store.head(A, NUMBER)) {
      relayed.push(head.record.order.id);
      await live(head.record, 'fenced', 'taken');
    }
    expect(relayed).toEqual(ids);
    expect(await store.dueLanes(A, 10)).toEqual(['+15550009999']);
  });

  it('under a key that has one with the same body answers that one, and stores nothing', async () => {
    const first = await intake.accept(A, request, key('k'));
    const before = (await keys()).length;
    const second = await intake.accept(A, request, key('k'));
    expect(second).toEqual({ id: first.id, replayed: true });
    expect((await keys()).length).toBe(before);
    expect(await redis.llen(`${prefix}:{${A}}:lane:${NUMBER}`)).toBe(1);
    expect(woken).toHaveLength(1);
  });

  it('under a key of another body is refused, and stores nothing', async () => {
    await intake.accept(A, request, key('k', 'a1'));
    const before = (await keys()).length;
    await expect(intake.accept(A, request, key('k', 'b2'))).rejects.toThrow(IdempotencyKeyReusedError);
    expect((await keys()).length).toBe(before);
  });

  it('under one key at once is one send', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => intake.accept(A, request, key('k'))));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await redis.llen(`${prefix}:{${A}}:lane:${NUMBER}`)).toBe(1);
  });

  it('under a key that is reserved is for its owner alone, for as long as the reservation holds', async () => {
    expect(await store.reserve(A, 'k', 'one', 60_000)).toBe(true);
    expect(await store.reserve(A, 'k', 'two', 60_000)).toBe(false);
    expect(await store.reserve(A, 'k', 'one', 60_000)).toBe(true);
    for (const under of [key('k'), { ...key('k'), owner: 'two' }]) {
      await expect(intake.accept(A, request, under)).rejects.toThrow(IdempotencyInProgressError);
      await expect(intake.recall(A, under)).rejects.toThrow(IdempotencyInProgressError);
    }
    await store.letGo(A, 'k', 'two');
    const { id } = await intake.accept(A, request, { ...key('k'), owner: 'one' });
    await store.letGo(A, 'k', 'one');
    // From now on the key has its send, and nobody needs to reserve it.
    expect(await store.reserve(A, 'k', 'two', 60_000)).toBe(true);
    expect(await intake.accept(A, request, { ...key('k'), owner: 'two' })).toEqual({ id, replayed: true });
    expect(await intake.recall(A, key('k'))).toEqual({ id, replayed: true });
    await expect(intake.recall(A, key('k', 'b2'))).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await redis.llen(`${prefix}:{${A}}:lane:${NUMBER}`)).toBe(1);
  });

  it('whose reservation is over is not stored under it: another may have it by then', async () => {
    await store.reserve(A, 'k', 'one', 1);
    await until('the lease is over', async () => store.reserve(A, 'k', 'two', 60_000));
    await expect(intake.accept(A, request, { ...key('k'), owner: 'one' })).rejects.toThrow(
      IdempotencyInProgressError,
    );
    await store.letGo(A, 'k', 'two');
    await expect(intake.accept(A, request, { ...key('k'), owner: 'two' })).rejects.toThrow(
      IdempotencyInProgressError,
    );
    expect(await intake.recall(A, key('k'))).toBeUndefined();
    expect((await intake.accept(A, request, key('k'))).replayed).toBe(false);
  });

  it('keeps keys apart by account, and whatever they look like', async () => {
    const one = await intake.accept(A, request, key('k'));
    const others = [
      await intake.accept('other', request, key('k')),
      await intake.accept(A, request, key('K')),
      await intake.accept(A, request, key('k\n\u{1F44B} ')),
      await intake.accept(A, request),
      await intake.accept(A, request),
    ];
    expect(new Set([one, ...others].map(({ id }) => id)).size).toBe(6);
  });

  it('remembers a key for a day', async () => {
    await intake.accept(A, request, key('k'));
    const [name = ''] = (await keys()).filter((each) => each.includes('idempotency'));
    const left = await redis.pttl(name);
    expect(left).toBeGreaterThan(86_390_000);
    expect(left).toBeLessThanOrEqual(86_400_000);
  });

  it.each([undefined, key('k')])(
    'whose answer was lost and that is stored again changes nothing (%j)',
    async (under) => {
      const wanted = order();
      expect(await store.insert(A, wanted, under)).toEqual({ kind: 'new' });
      const taken = await live(await found(wanted.id), 'fenced', 'taken');
      expect(await store.insert(A, wanted, under)).toEqual({ kind: 'new' });
      expect(await store.find(A, wanted.id)).toEqual(taken);
      expect(await store.head(A, NUMBER)).toBeUndefined();
    },
  );

  it('for later keeps it out of its lane until then', async () => {
    const { id } = await intake.accept(A, { ...request, sendAt: Date.now() + 60_000 });
    expect((await intake.find(A, id))?.status).toBe('scheduled');
    expect(await store.head(A, NUMBER)).toBeUndefined();
    expect(await store.dueScheduled(A, 10)).toEqual([]);
    expect(woken).toEqual([]);
    const past = await intake.accept(A, { ...request, sendAt: Date.now() - 1 });
    expect((await intake.find(A, past.id))?.status).toBe('queued');
  });
});

describe('a step of a send', () => {
  it('is made from the state that was read, or not at all', async () => {
    const record = await live(await insert(), 'fenced');
    const [one, two] = await Promise.all([step(record, 'taken'), step(record, 'taken')]);
    expect([one, two].filter((each) => each !== undefined)).toHaveLength(1);
    expect(await eventTypes()).toEqual(['send.accepted']);
    expect(await step(record, 'taken')).toBeUndefined();
  });

  it('that cannot happen to a send of its status is an error, and changes nothing', async () => {
    const record = await insert();
    await expect(step(record, 'taken')).rejects.toThrow(ImpossiblePassageError);
    expect(await found(record.order.id)).toEqual(record);
    expect(await eventTypes()).toEqual([]);
  });

  it('is one step with its event: the event shows the send as it then stands', async () => {
    const record = await live(await insert(), 'fenced', 'taken');
    const { events } = await log.read(A, undefined, 10);
    expect(JSON.parse(events[0]?.data ?? '{}')).toMatchObject({
      send: {
        id: record.order.id,
        status: 'accepted',
        updatedAt: new Date(record.state.updatedAt).toISOString(),
      },
    });
  });

  it('counts its revision up, and each has an event of its own', async () => {
    let record = await live(await insert(), 'fenced', 'taken');
    for (let i = 3; i <= 5; i += 1) {
      record = await live(record, 'unconfirmed');
      expect(record.state.revision).toBe(i);
    }
    expect(await eventTypes()).toHaveLength(4);
  });

  it('whose answer was lost is answered as done when it is made again, and is done once', async () => {
    const record = await live(await insert(), 'fenced');
    const calls: unknown[][] = [];
    // The very same script call, as a connection that lost the answer makes it.
    const spy = new Proxy(redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'evalsha' || name === 'eval') calls.push([name, ...args]);
          return Reflect.apply(value, target, args);
        };
      },
    });
    const done = await new RedisRelayStore(spy, prefix, systemClock).transit(A, record, {
      happening: 'taken',
      state: settled(record.state),
    });
    const [, ...args] = calls.at(-1) ?? [];
    const name = String(calls.at(-1)?.[0]) as 'eval' | 'evalsha';
    const command = redis[name].bind(redis) as (...rest: unknown[]) => Promise<unknown>;
    expect(await command(...args)).toBe(1);
    expect(await found(record.order.id)).toEqual(done);
    expect(await eventTypes()).toEqual(['send.accepted']);
    await insert({ id: newId('snd') });
    expect(await redis.llen(`${prefix}:{${A}}:lane:${NUMBER}`)).toBe(1);
  });

  it('that claims a message which is another send’s is refused', async () => {
    const [one, two] = [await insert(), await insert()];
    expect(await step(one, 'found', { claim: CLAIM })).toBeDefined();
    expect(await step(two, 'found', { claim: CLAIM })).toBeUndefined();
    expect((await found(two.order.id)).state.status).toBe('queued');
    expect(await store.claims(A, 'c1', ['m1', 'm2'])).toEqual(new Map([['m1', { sendId: one.order.id }]]));
    expect(await step(await found(one.order.id), 'found', { claim: CLAIM })).toBeDefined();
    // The same id in another contact is another message.
    expect(await step(two, 'found', { claim: { ...CLAIM, contactId: 'c2' } })).toBeDefined();
  });

  it('out of a lane makes the lane due for the next at once', async () => {
    const [one, two] = [await insert(), await insert()];
    const held = await step(one, 'fenced', { laneDueInMs: 60_000 });
    expect(await store.dueLanes(A, 10)).toEqual([]);
    if (held !== undefined) await live(held, 'taken');
    expect(await store.dueLanes(A, 10)).toEqual([NUMBER]);
    expect((await store.head(A, NUMBER))?.record.order.id).toBe(two.order.id);
  });

  it('puts the sends that wait for their message in the order in which they began', async () => {
    const records = [await insert(), await insert(), await insert()];
    for (const record of [records[2], records[0], records[1]]) {
      if (record === undefined) continue;
      const first = performance.now();
      await live(record, 'fenced');
      await until('another millisecond', () => performance.now() - first > 2);
    }
    const ids = async (count: number): Promise<string[]> =>
      (await store.awaiting(A, NUMBER, count)).map((record) => record.order.id);
    expect(await ids(10)).toEqual([records[2], records[0], records[1]].map((record) => record?.order.id));
    expect(await ids(2)).toEqual([records[0], records[1]].map((record) => record?.order.id));
  });
});

describe('cancelling', () => {
  it('ends a queued and a scheduled send, and tells', async () => {
    const queued = await intake.accept(A, request);
    const sendAt = Date.now() + 1;
    const later = await intake.accept(A, { ...request, sendAt });
    for (const { id } of [queued, later])
      expect(await intake.cancel(A, id)).toMatchObject({ id, status: 'cancelled' });
    expect(await store.head(A, NUMBER)).toBeUndefined();
    await until('its time came', () => Date.now() > sendAt + 5);
    expect(await store.dueScheduled(A, 10)).toEqual([]);
    expect(await eventTypes()).toEqual(['send.cancelled', 'send.cancelled']);
    expect(await intake.cancel(A, 'snd_none')).toBeUndefined();
  });

  it('comes too late once it is being relayed', async () => {
    const record = await insert();
    await live(record, 'fenced');
    await expect(intake.cancel(A, record.order.id)).rejects.toThrow(SendNotCancellableError);
  });

  it('races with relaying, and exactly one wins', async () => {
    const wins = { cancel: 0, relay: 0 };
    for (let i = 0; i < 40; i += 1) {
      const record = await insert({ id: newId('snd'), phoneNumber: `+1555000${1000 + i}` });
      const relay = (): Promise<boolean> => step(record, 'fenced').then((done) => done !== undefined);
      const cancel = (): Promise<boolean> =>
        intake.cancel(A, record.order.id).then(
          () => true,
          (error: unknown) => {
            if (error instanceof SendNotCancellableError) return false;
            throw error;
          },
        );
      const both = i % 2 === 0 ? [relay(), cancel()] : [cancel(), relay()];
      const [first, second] = await Promise.all(both);
      expect(first).not.toBe(second);
      const { status } = (await found(record.order.id)).state;
      wins[status === 'cancelled' ? 'cancel' : 'relay'] += 1;
      expect(status).toBe((i % 2 === 0 ? first : second) === true ? 'relaying' : 'cancelled');
    }
    expect(wins.cancel + wins.relay).toBe(40);
  });
});

describe('retention', () => {
  it('removes finished sends by number, the oldest first, with all that is kept of them, and no other', async () => {
    const open = await insert();
    const done: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const record = await insert();
      const messageId = `m${i}`;
      const state = { ...settled(record.state), contactId: 'c1', messageId };
      await step(await live(record, 'fenced'), 'found', { state, claim: { contactId: 'c1', messageId } });
      done.push(record.order.id);
      const at = performance.now();
      await until('another millisecond', () => performance.now() - at > 2);
    }
    const gone = await store.trim(A, { maxAgeMs: 60_000, maxCount: 2 });
    expect(gone.map(({ id }) => id)).toEqual(done.slice(0, 3));
    expect(await store.find(A, done[0] ?? '')).toBeUndefined();
    expect(await store.claims(A, 'c1', ['m0', 'm4'])).toEqual(new Map([['m4', { sendId: done[4] }]]));
    expect(await store.trim(A, { maxAgeMs: -10_000, maxCount: 100 })).toHaveLength(2);
    expect(await store.find(A, open.order.id)).toBeDefined();
  });

  it('removes what a send that was never seen waited for', async () => {
    const record = await live(await insert(), 'fenced');
    await step(record, 'taken', { confirmInMs: 0 });
    expect(await store.awaiting(A, NUMBER, 100)).toHaveLength(1);
    expect(await store.dueConfirms(A, 100)).toHaveLength(1);
    expect(await store.trim(A, { maxAgeMs: -10_000, maxCount: 100 })).toHaveLength(1);
    expect(await store.awaiting(A, NUMBER, 100)).toEqual([]);
    expect(await store.dueConfirms(A, 100)).toEqual([]);
    expect((await keys()).filter((name) => /awaiting|confirms|:send:/.test(name))).toEqual([]);
  });
});

describe('a lane', () => {
  it('is not held up by a send that is gone', async () => {
    const [lost, next] = [await insert(), await insert()];
    await redis.del(`${prefix}:{${A}}:send:${lost.order.id}`);
    expect((await store.head(A, NUMBER))?.record.order.id).toBe(next.order.id);
  });

  it('that is put off is due again in its time, and an empty one never', async () => {
    await insert();
    await store.postpone(A, NUMBER, 60_000);
    expect(await store.dueLanes(A, 10)).toEqual([]);
    await store.postpone(A, NUMBER, 0);
    expect(await store.dueLanes(A, 10)).toEqual([NUMBER]);
    await store.postpone(A, '+15550000001', 0);
    expect(await store.dueLanes(A, 10)).toEqual([NUMBER]);
  });
});
