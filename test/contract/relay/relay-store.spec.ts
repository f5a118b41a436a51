import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { channelOfConversationChanges } from '#conversations';
import { RedisEventLog } from '#events';
import {
  accountKeys,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import {
  type IdempotencyKey,
  type RelayJobs,
  RedisIdempotencyKeys,
  RedisRelayStore,
  RedisSendHistory,
  RedisSendList,
  type Send,
  type SendFilter,
  SendNotCancellableError,
  SendQuotaExceededError,
  StoreBackedSendService,
} from '#relay';
import type { AppliedChange, StateChange } from '../../../libs/relay/src/send/relay-store.js';
import {
  type TransitionName,
  InvalidTransitionError,
} from '../../../libs/relay/src/send/send-transitions.js';
import {
  fieldsKeptAcrossTransitions,
  type SendOrder,
  type SendRecord,
} from '../../../libs/relay/src/send/send-record.js';
import { ANY_SERVICE } from '../feed/feed-harness.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { RedisBackup } from '../../support/redis-backup.js';
import { eventually } from '../../support/eventually.js';

const ACCOUNT = 'default';
const NUMBER = '+15551234567';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let store: RedisRelayStore;
let log: RedisEventLog;
let list: RedisSendList;
let idempotencyKeys: RedisIdempotencyKeys;
let intake: StoreBackedSendService;
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
  store = new RedisRelayStore(redis, prefix, clockOfThisMachine);
  log = new RedisEventLog(redis, prefix);
  list = new RedisSendList(redis, prefix);
  woken = [];
  const jobs: RelayJobs = {
    wake: (_, lanes) => {
      woken.push(...lanes);
      return Promise.resolve();
    },
  };
  idempotencyKeys = new RedisIdempotencyKeys(redis, prefix);
  intake = new StoreBackedSendService(store, idempotencyKeys, jobs, ANY_SERVICE);
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
const KEY_LIFETIME_MS = 168 * 3_600_000;
const key = (name: string, fingerprint = 'a1'): IdempotencyKey => ({
  key: name,
  fingerprint,
  lifetimeMs: KEY_LIFETIME_MS,
});

async function insert(more: Partial<SendOrder> = {}): Promise<SendRecord> {
  const wanted = order(more);
  await store.insert(ACCOUNT, wanted);
  return found(wanted.id);
}
async function found(id: string): Promise<SendRecord> {
  const record = await store.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  return record;
}
const applyTo = (
  record: SendRecord,
  transition: TransitionName,
  more: Partial<StateChange> = {},
): Promise<AppliedChange | undefined> =>
  store.apply(ACCOUNT, record, { transition, state: fieldsKeptAcrossTransitions(record.state), ...more });
/** Applies several transitions, each of which must succeed. */
async function applyAll(record: SendRecord, ...transitions: TransitionName[]): Promise<SendRecord> {
  let current = record;
  for (const transition of transitions) {
    const next = await applyTo(current, transition);
    if (next === undefined) throw new Error(`${transition} was refused`);
    current = next;
  }
  return { order: current.order, state: current.state };
}
const eventTypes = async (): Promise<string[]> =>
  (await log.read(ACCOUNT, undefined, 1_000)).events.map(({ type }) => type);
const keys = (): Promise<string[]> => redis.keys(`${prefix}:*`);

describe('The look-ups of a send', () => {
  it('are stored with the state of the send, are kept at each transition, and are not part of events', async () => {
    const begun = await applyAll(await insert(), 'fenced', 'ambiguous');
    expect(begun.state).not.toHaveProperty('lookups');
    const candidates = [{ contactId: 'c1', messageId: 'm1', sentAt: 1, reason: 'r' }];
    const lookup = { at: 2, since: 1, outcome: 'not_found', contactIds: ['c1'], messagesRead: 20 } as const;
    const lookups = [{ ...lookup, candidates }];
    const state = { ...fieldsKeptAcrossTransitions(begun.state), lookups };
    const looked = await applyTo(begun, 'search_continued', { state });
    if (looked === undefined) throw new Error('the look-up was refused');
    await applyAll(looked, 'marked_unknown', 'resolved_resend', 'cancelled');
    expect((await found(begun.order.id)).state.lookups).toEqual(lookups);
    const events = (await log.read(ACCOUNT, undefined, 1_000)).events;
    expect(events.map(({ type }) => type)).toEqual(['send.unknown', 'send.cancelled']);
    for (const { data } of events) expect(data).not.toContain('lookups');
  });
});

describe('Marking a send as relaying and taking the token for its POST in one step', () => {
  const mark = (record: SendRecord, requestsPerSecond = 10): ReturnType<RedisRelayStore['fence']> => {
    const state = { ...fieldsKeptAcrossTransitions(record.state), phase: 'posting', begunAt: 1 } as const;
    return store.fence(ACCOUNT, record, { state, leaseMs: 15_000, requestsPerSecond, name: newId('req') });
  };
  const accountKey = (name: string): string => `${prefix}:{${ACCOUNT}}:${name}`;
  /** Returns what Redis stores, without the budget and without what differs between any two sends. */
  const stored = async ({ order }: SendRecord): Promise<string> => {
    const all: Record<string, unknown> = {};
    for (const name of (await keys()).sort()) {
      if (name.endsWith(':budget')) continue;
      const type = await redis.type(name);
      if (type === 'hash') all[name] = await redis.hgetall(name);
      else if (type === 'zset') all[name] = await redis.zrange(name, '0', '-1');
      else if (type === 'list') all[name] = await redis.lrange(name, 0, -1);
    }
    return JSON.stringify(all)
      .replaceAll(order.id, 'ID')
      .replaceAll(prefix, 'PREFIX')
      .replaceAll(/\\*"(updatedAt|createdAt|step|nonce|epoch|installedAt|v)\\*":\\*"?[^,"\\}]+/g, '$1');
  };

  it('stores the same data as taking the token first and marking the send afterwards', async () => {
    const at = Date.now();
    const one = await insert({ createdAt: at, expiresAt: at + 60_000 });
    const state = { ...fieldsKeptAcrossTransitions(one.state), phase: 'posting', begunAt: 1 } as const;
    const change = { transition: 'fenced', state, laneDueInMs: 15_000, redisRun: 'mustMatch' } as const;
    expect(await store.apply(ACCOUNT, one, change)).toBeDefined();
    const byTransition = await stored(one);
    prefix = newId('req');
    store = new RedisRelayStore(redis, prefix, clockOfThisMachine);
    const other = await insert({ createdAt: at, expiresAt: at + 60_000 });
    expect(await mark(other)).toMatchObject({ kind: 'fenced', record: { state: { status: 'relaying' } } });
    expect(await stored(other)).toBe(byTransition);
  });

  it('takes one token, or no token if the send has changed since it was read', async () => {
    const record = await insert();
    const other = await insert({ phoneNumber: '+15550000001' });
    expect((await mark(record, 1)).kind).toBe('fenced');
    const bucket = await redis.hgetall(accountKey('budget'));
    expect(Number(bucket['tokens'])).toBe(0);
    expect((await mark(record, 1)).kind).toBe('changed');
    expect(await redis.hgetall(accountKey('budget'))).toEqual(bucket);
    expect((await mark(other, 1)).kind).toBe('unusual');
    expect(await found(other.order.id)).toEqual(other);
  });

  it.each([
    ['the account has an outage', 'upstream', 'unavailableSince'],
    ['the request budget was reduced, and a successful POST must raise it again', 'budget', 'limit'],
  ])('is refused if %s: neither the send nor the tokens change', async (_, name, field) => {
    const record = await insert();
    await redis.hset(accountKey(name), field, '1');
    const before = await redis.hgetall(accountKey('budget'));
    expect(await mark(record)).toEqual({ kind: 'unusual' });
    expect(await found(record.order.id)).toEqual(record);
    expect(await redis.hgetall(accountKey('budget'))).toEqual(before);
    await redis.hdel(accountKey(name), field);
    expect((await mark(record)).kind).toBe('fenced');
  });

  it('is refused while 403 answers are counted, because a success must reset the count', async () => {
    const record = await insert();
    await redis.set(accountKey('upstream:forbidden'), 1);
    expect(await mark(record)).toEqual({ kind: 'unusual' });
    await redis.del(accountKey('upstream:forbidden'));
    expect((await mark(record)).kind).toBe('fenced');
  });

  it('is refused for a send that was stored before the last restart or failover of Redis', async () => {
    const record = await insert();
    await redis.hset(accountKey(`send:${record.order.id}`), 'life', 'an earlier run');
    expect(await mark(record)).toEqual({ kind: 'changed' });
    expect((await found(record.order.id)).state).toEqual(record.state);
  });
});

describe('The next check for the message of an accepted send', () => {
  it('is scheduled only if the previous check is due and the send has not changed since it was read', async () => {
    const accepted = async (): Promise<SendRecord> => {
      const fenced = await applyAll(await insert(), 'fenced');
      const record = await applyTo(fenced, 'accepted', { confirmInMs: 0 });
      if (record === undefined) throw new Error('the change was refused');
      return record;
    };
    const [one, changed] = [await accepted(), await accepted()];
    await applyAll(changed, 'unconfirmed');
    const sends = [one, changed].map((record) => ({ record, inMs: 30_000 }));
    await eventually(
      'both checks are due',
      async () => (await store.dueConfirmations(ACCOUNT, 9)).length === 2,
    );
    expect(await store.rescheduleChecksOfAcceptedSends(ACCOUNT, sends)).toEqual([one]);
    expect(await store.rescheduleChecksOfAcceptedSends(ACCOUNT, sends)).toEqual([]);
    const due = await store.dueConfirmations(ACCOUNT, 9);
    expect(due.map(({ order: { id } }) => id)).toEqual([changed.order.id]);
  });
});

describe('A change that takes a send out of its lane', () => {
  it('reports that the lane is empty only if the send was the last one in the lane', async () => {
    const [one, two] = [await insert(), await insert()];
    const accepted = async (record: SendRecord): ReturnType<typeof applyTo> =>
      applyTo(await applyAll(record, 'fenced'), 'accepted');
    expect((await accepted(one))?.isLaneEmpty).toBeUndefined();
    expect((await accepted(two))?.isLaneEmpty).toBe(true);
  });
});

describe('The time at which a message was bound to its send', () => {
  it('is stored with the message, and kept across later transitions', async () => {
    const queued = await insert();
    expect(queued.state.boundAt).toBeUndefined();
    const before = Date.now();
    const state = { ...fieldsKeptAcrossTransitions(queued.state), ...CLAIM };
    const sent = await store.apply(ACCOUNT, queued, { transition: 'found', state, claim: CLAIM });
    const boundAt = sent?.state.boundAt;
    expect(boundAt).toBeGreaterThanOrEqual(before);
    const read = sent && (await applyTo(sent, 'message_read'));
    expect(read?.state.boundAt).toBe(boundAt);
    const history = new RedisSendHistory(redis, prefix);
    const { id } = queued.order;
    expect(await history.byIds(ACCOUNT, [id, 'snd_x'])).toMatchObject([{ send: { id }, boundAt }]);
    expect(await history.sendIdsOf(ACCOUNT, 'c1', ['m1', 'm2'])).toEqual(new Map([['m1', id]]));
  });
});

describe('storing a new send', () => {
  it('adds the send to its lane, and wakes the lane', async () => {
    const { id, replayed } = await intake.accept(ACCOUNT, {
      ...request,
      reference: 'r',
      metadata: { a: [1] },
    });
    expect(replayed).toBe(false);
    const send = await intake.find(ACCOUNT, id);
    expect(send).toMatchObject({
      id,
      status: 'queued',
      reference: 'r',
      metadata: { a: [1] },
      attempts: [],
      messageId: null,
    });
    expect(await intake.find('other', id)).toBeUndefined();
    expect((await store.laneHead(ACCOUNT, NUMBER))?.record.order.id).toBe(id);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([NUMBER]);
    expect(woken).toEqual([NUMBER]);
  });

  it('keeps the sends of each lane in the order in which they were stored', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) ids.push((await intake.accept(ACCOUNT, request)).id);
    const other = await intake.accept(ACCOUNT, { ...request, phoneNumber: '+15550009999' });
    expect((await store.laneHead(ACCOUNT, '+15550009999'))?.record.order.id).toBe(other.id);
    const relayed: string[] = [];
    for (
      let head = await store.laneHead(ACCOUNT, NUMBER);
      head !== undefined;
      head = await store.laneHead(ACCOUNT, NUMBER)
    ) {
      relayed.push(head.record.order.id);
      await applyAll(head.record, 'fenced', 'accepted');
    }
    expect(relayed).toEqual(ids);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual(['+15550009999']);
  });

  it('keeps the idempotency key for the configured key lifetime', async () => {
    await intake.accept(ACCOUNT, request, key('k'));
    const [name = ''] = (await keys()).filter((each) => each.includes('idempotency'));
    const left = await redis.pttl(name);
    expect(left).toBeGreaterThan(KEY_LIFETIME_MS - 10_000);
    expect(left).toBeLessThanOrEqual(KEY_LIFETIME_MS);
  });

  it.each([undefined, key('k')])(
    'again after the reply of Redis was lost changes nothing (idempotency key: %j)',
    async (under) => {
      const wanted = order();
      expect(await store.insert(ACCOUNT, wanted, under)).toEqual({ kind: 'new' });
      const taken = await applyAll(await found(wanted.id), 'fenced', 'accepted');
      expect(await store.insert(ACCOUNT, wanted, under)).toEqual({ kind: 'new' });
      expect(await store.find(ACCOUNT, wanted.id)).toEqual(taken);
      expect(await store.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
    },
  );

  it('with a quota is refused above the maximum number of unfinished sends of the same holder, without using up the idempotency key', async () => {
    const quota = { holder: 'browser', maxUnfinished: 2 };
    const accept = async (under?: IdempotencyKey, sendAt?: number): Promise<string> => {
      const wanted = sendAt === undefined ? request : { ...request, sendAt };
      return (await intake.accept(ACCOUNT, wanted, under, {}, quota)).id;
    };
    const first = await accept(key('first'));
    const second = await accept(undefined, Date.now() + 60_000);
    const { length: before } = await keys();
    await expect(accept(key('third'))).rejects.toThrow(SendQuotaExceededError);
    expect(await keys()).toHaveLength(before);
    expect(await accept(key('first'))).toBe(first);
    await intake.accept(ACCOUNT, request, undefined, {}, { ...quota, holder: 'another' });
    await intake.accept(ACCOUNT, request);

    await intake.cancel(ACCOUNT, second);
    const third = await accept(key('third'));
    await expect(accept()).rejects.toThrow(SendQuotaExceededError);
    await applyAll(await found(third), 'fenced', 'accepted');
    await accept();
  });

  it('with a quota counts the sends of the holder in a Redis key that expires a week after the latest `sendAt`', async () => {
    const WEEK_MS = 7 * 86_400_000;
    const quota = { holder: 'browser', maxUnfinished: 2 };
    const sendAt = Date.now() + 4 * WEEK_MS;
    await intake.accept(ACCOUNT, { ...request, sendAt }, undefined, {}, quota);
    await intake.accept(ACCOUNT, request, undefined, {}, quota);
    const [name = ''] = (await keys()).filter((each) => each.includes('quota'));
    expect(await redis.pexpiretime(name)).toBe(sendAt + WEEK_MS);
  });

  it('with a future sendAt keeps the send out of its lane; with a past sendAt, the send is queued at once', async () => {
    const { id } = await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() + 60_000 });
    expect((await intake.find(ACCOUNT, id))?.status).toBe('scheduled');
    expect(await store.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
    expect(await store.promoteScheduled(ACCOUNT, 10)).toEqual([]);
    expect(await store.nextScheduledInMs(ACCOUNT)).toBeGreaterThan(50_000);
    expect(woken).toEqual([]);
    const past = await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() - 1 });
    expect((await intake.find(ACCOUNT, past.id))?.status).toBe('queued');
  });
});

describe('a change of a send', () => {
  it('is applied only if the stored state has not changed since it was read', async () => {
    const record = await applyAll(await insert(), 'fenced');
    const [one, two] = await Promise.all([applyTo(record, 'accepted'), applyTo(record, 'accepted')]);
    expect([one, two].filter((each) => each !== undefined)).toHaveLength(1);
    expect(await eventTypes()).toEqual(['send.accepted']);
    expect(await applyTo(record, 'accepted')).toBeUndefined();
  });

  it('with an invalid transition is an error, and changes nothing', async () => {
    const record = await insert();
    await expect(applyTo(record, 'accepted')).rejects.toThrow(InvalidTransitionError);
    expect(await found(record.order.id)).toEqual(record);
    expect(await eventTypes()).toEqual([]);
  });

  it('is written together with its event, which contains the changed send', async () => {
    const record = await applyAll(await insert(), 'fenced', 'accepted');
    const { events } = await log.read(ACCOUNT, undefined, 10);
    expect(JSON.parse(events[0]?.data ?? '{}')).toMatchObject({
      send: {
        id: record.order.id,
        status: 'accepted',
        updatedAt: new Date(record.state.updatedAt).toISOString(),
      },
    });
  });

  it('increases the revision by one, and repeated changes of the same kind have separate events', async () => {
    let record = await applyAll(await insert(), 'fenced', 'accepted');
    for (let i = 3; i <= 5; i += 1) {
      record = await applyAll(record, 'unconfirmed');
      expect(record.state.revision).toBe(i);
    }
    expect(await eventTypes()).toHaveLength(4);
  });

  it('succeeds and is applied only once if it is repeated because the reply of Redis was lost', async () => {
    const record = await applyAll(await insert(), 'fenced');
    const calls: unknown[][] = [];
    // The same script call, as a connection that lost the answer repeats it.
    const spy = new Proxy(redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'call') calls.push(args);
          return Reflect.apply(value, target, args);
        };
      },
    });
    const done = await new RedisRelayStore(spy, prefix, clockOfThisMachine).apply(ACCOUNT, record, {
      transition: 'accepted',
      state: fieldsKeptAcrossTransitions(record.state),
    });
    const call = redis.call.bind(redis) as (...args: unknown[]) => Promise<unknown>;
    expect(await call(...(calls.at(-1) ?? []))).toBe(1);
    expect(done).toEqual({ ...(await found(record.order.id)), isLaneEmpty: true });
    expect(await eventTypes()).toEqual(['send.accepted']);
    await insert({ id: newId('snd') });
    expect(await redis.llen(`${prefix}:{${ACCOUNT}}:lane:${NUMBER}`)).toBe(1);
  });

  it('that binds a message is refused if the message is already bound to another send', async () => {
    const [one, two] = [await insert(), await insert()];
    expect(await applyTo(one, 'found', { claim: CLAIM })).toBeDefined();
    expect(await applyTo(two, 'found', { claim: CLAIM })).toBeUndefined();
    expect((await found(two.order.id)).state.status).toBe('queued');
    expect(await store.boundSends(ACCOUNT, 'c1', ['m1', 'm2'])).toEqual(
      new Map([['m1', { sendId: one.order.id }]]),
    );
    expect(await applyTo(await found(one.order.id), 'found', { claim: CLAIM })).toBeDefined();
    // The same message id in another contact is another message.
    expect(await applyTo(two, 'found', { claim: { ...CLAIM, contactId: 'c2' } })).toBeDefined();
  });

  it('that binds the send to a message stores the `reference` field and the trace of the send in a form that earlier builds can read', async () => {
    const reference = 'order 7 duplicate ✓';
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const record = await insert({ reference, trace });
    await applyTo(record, 'found', { claim: CLAIM });
    const bound = { sendId: record.order.id, reference, trace };
    expect(await store.boundSends(ACCOUNT, 'c1', ['m1'])).toEqual(new Map([['m1', bound]]));
    const claims = `${prefix}:{${ACCOUNT}}:claims`;
    const [field = ''] = await redis.hkeys(claims);
    // Earlier builds read the first word, and whether the second is `duplicate`.
    const [sendId, second] = (await redis.hget(claims, field))?.split(' ') ?? [];
    expect(sendId).toBe(record.order.id);
    expect(second).not.toBe('duplicate');
    await redis.hset(claims, field, 'snd_1 duplicate');
    const old = { sendId: 'snd_1', duplicate: true };
    expect(await store.boundSends(ACCOUNT, 'c1', ['m1'])).toEqual(new Map([['m1', old]]));
  });

  it('that takes the send out of its lane makes the lane due at once', async () => {
    const [one, two] = [await insert(), await insert()];
    const held = await applyTo(one, 'fenced', { laneDueInMs: 60_000 });
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([]);
    if (held !== undefined) await applyAll(held, 'accepted');
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([NUMBER]);
    expect((await store.laneHead(ACCOUNT, NUMBER))?.record.order.id).toBe(two.order.id);
  });

  it('to the status `relaying` adds the send to the list of sends that await their message, sorted by the time of the POST', async () => {
    const records = [await insert(), await insert(), await insert()];
    for (const record of [records[2], records[0], records[1]]) {
      if (record === undefined) continue;
      const first = performance.now();
      await applyAll(record, 'fenced');
      await eventually('another millisecond has passed', () => performance.now() - first > 2);
    }
    const ids = async (count: number): Promise<string[]> =>
      (await store.sendsAwaitingMessage(ACCOUNT, NUMBER, count)).map((record) => record.order.id);
    expect(await ids(10)).toEqual([records[2], records[0], records[1]].map((record) => record?.order.id));
    expect(await ids(2)).toEqual([records[0], records[1]].map((record) => record?.order.id));
  });
});

describe('cancelling a send', () => {
  it('is possible while the send is queued or scheduled, and emits send.cancelled', async () => {
    const queued = await intake.accept(ACCOUNT, request);
    const sendAt = Date.now() + 1;
    const later = await intake.accept(ACCOUNT, { ...request, sendAt });
    for (const { id } of [queued, later])
      expect(await intake.cancel(ACCOUNT, id)).toMatchObject({ id, status: 'cancelled' });
    expect(await store.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
    await eventually('the sendAt has passed', () => Date.now() > sendAt + 5);
    expect(await store.promoteScheduled(ACCOUNT, 10)).toEqual([]);
    expect(await eventTypes()).toEqual(['send.cancelled', 'send.cancelled']);
    expect(await intake.cancel(ACCOUNT, 'snd_none')).toBeUndefined();
  });

  it('is refused while the send is being relayed', async () => {
    const record = await insert();
    await applyAll(record, 'fenced');
    await expect(intake.cancel(ACCOUNT, record.order.id)).rejects.toThrow(SendNotCancellableError);
  });

  it('that is about to be posted either succeeds and prevents the POST, or is refused', async () => {
    const wins = { cancel: 0, relay: 0 };
    for (let i = 0; i < 40; i += 1) {
      const record = await insert({ id: newId('snd'), phoneNumber: `+1555000${1000 + i}` });
      const relay = (): Promise<boolean> => applyTo(record, 'fenced').then((done) => done !== undefined);
      const cancel = (): Promise<boolean> =>
        intake.cancel(ACCOUNT, record.order.id).then(
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

describe('retention of sends', () => {
  it('removes the oldest finished sends beyond the maximum number, with all their data', async () => {
    const open = await insert();
    const done: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const record = await insert();
      const messageId = `m${i}`;
      const state = { ...fieldsKeptAcrossTransitions(record.state), contactId: 'c1', messageId };
      await applyTo(await applyAll(record, 'fenced'), 'found', {
        state,
        claim: { contactId: 'c1', messageId },
      });
      done.push(record.order.id);
      const at = performance.now();
      await eventually('another millisecond has passed', () => performance.now() - at > 2);
    }
    const gone = await store.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 2 });
    expect(gone.map(({ id }) => id)).toEqual(done.slice(0, 3));
    expect(await store.find(ACCOUNT, done[0] ?? '')).toBeUndefined();
    expect(await store.boundSends(ACCOUNT, 'c1', ['m0', 'm4'])).toEqual(
      new Map([['m4', { sendId: done[4] }]]),
    );
    expect(await store.trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 100 })).toHaveLength(2);
    expect(await store.find(ACCOUNT, open.order.id)).toBeDefined();
  });

  it('removes accepted and unknown sends after all finished sends, and emits an event for each accepted or unknown send that it removes', async () => {
    const accepted = await applyAll(await insert(), 'fenced');
    await applyTo(accepted, 'accepted', { confirmInMs: 0 });
    // Sends that became uncertain in the same millisecond are removed in the order of their random ids.
    const acceptedAt = await store.now(ACCOUNT);
    await eventually('the clock has moved on', async () => (await store.now(ACCOUNT)) > acceptedAt);
    const unknown = await applyAll(await insert(), 'fenced', 'marked_unknown');
    const done: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      done.push((await applyAll(await insert(), 'fenced', 'refused')).order.id);
    }
    const eventsOfSends = async (): Promise<string[]> =>
      (await log.read(ACCOUNT, undefined, 1_000)).events.map(
        ({ type, data }) => `${type} ${(JSON.parse(data) as { send: { id: string } }).send.id}`,
      );
    const trimmed = async (maxCount: number, maxAgeMs = 60_000): Promise<string[]> =>
      (await store.trim(ACCOUNT, { maxAgeMs, maxCount })).map(({ id }) => id);
    expect((await trimmed(100, -10_000)).sort()).toEqual(done.sort());
    expect(await trimmed(2)).toEqual([]);
    expect(await eventsOfSends()).not.toContain(`send.unconfirmed ${accepted.order.id}`);
    expect(await trimmed(1)).toEqual([accepted.order.id]);
    expect((await eventsOfSends()).at(-1)).toBe(`send.unconfirmed ${accepted.order.id}`);
    expect(await trimmed(1)).toEqual([]);
    expect((await store.find(ACCOUNT, unknown.order.id))?.state.status).toBe('unknown');
    expect(await trimmed(0)).toEqual([unknown.order.id]);
    expect((await eventsOfSends()).at(-1)).toBe(`send.unknown ${unknown.order.id}`);
    expect((await keys()).filter((name) => /undecided|finished|awaiting|confirms|:send:/.test(name))).toEqual(
      [],
    );
  });

  it('keeps a send of status `unknown` beyond the maximum age, even if an older build listed the send as finished', async () => {
    const { id } = (await applyAll(await insert(), 'fenced', 'marked_unknown')).order;
    await redis.zrem(`${prefix}:{${ACCOUNT}}:sends:undecided`, id);
    await redis.zadd(`${prefix}:{${ACCOUNT}}:finished`, 1, id);
    expect(await store.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 100 })).toEqual([]);
    expect(await store.find(ACCOUNT, id)).toBeDefined();
    expect(await store.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 0 })).toHaveLength(1);
  });

  it('removes an accepted send whose message was not found, and its planned look-ups', async () => {
    const record = await applyAll(await insert(), 'fenced');
    await applyTo(record, 'accepted', { confirmInMs: 0 });
    expect(await store.sendsAwaitingMessage(ACCOUNT, NUMBER, 100)).toHaveLength(1);
    expect(await store.dueConfirmations(ACCOUNT, 100)).toHaveLength(1);
    expect(await store.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 0 })).toHaveLength(1);
    expect(await store.sendsAwaitingMessage(ACCOUNT, NUMBER, 100)).toEqual([]);
    expect(await store.dueConfirmations(ACCOUNT, 100)).toEqual([]);
    expect((await keys()).filter((name) => /awaiting|confirms|:send:/.test(name))).toEqual([]);
  });
});

describe('a lane', () => {
  it('is not blocked by a send whose record is missing', async () => {
    const [lost, next] = [await insert(), await insert()];
    await redis.del(`${prefix}:{${ACCOUNT}}:send:${lost.order.id}`);
    expect((await store.laneHead(ACCOUNT, NUMBER))?.record.order.id).toBe(next.order.id);
  });

  it('that is postponed becomes due again after the given time; an empty lane never becomes due', async () => {
    const [head, next] = [await insert(), await insert()];
    expect(await store.postponeLane(ACCOUNT, head, 60_000)).toBe(true);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([]);
    expect(await store.postponeLane(ACCOUNT, head, 0)).toBe(true);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([NUMBER]);
    expect(await store.postponeLane(ACCOUNT, next, 60_000)).toBe(false);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([NUMBER]);
    const gone = { ...head, order: { ...head.order, phoneNumber: '+15550000001' } };
    expect(await store.postponeLane(ACCOUNT, gone, 0)).toBe(false);
    expect(await store.dueLanes(ACCOUNT, 10)).toEqual([NUMBER]);
  });
});

describe('scheduled sends', () => {
  it('are moved to their lanes only once, many at a time, sorted by sendAt and then by the time of storage', async () => {
    const at = Date.now() + 30;
    const orders = Array.from({ length: 20 }, (_, i) => order({ sendAt: i < 3 ? at + 2 : at }));
    for (const each of orders) await store.insert(ACCOUNT, each);
    const cancelled = orders[5]?.id ?? '';
    await intake.cancel(ACCOUNT, cancelled);
    await eventually(
      'the sends are due',
      async () => (await store.nextScheduledInMs(ACCOUNT)) === 0 && Date.now() > at + 2,
    );
    const lanes = await Promise.all([
      store.promoteScheduled(ACCOUNT, 100),
      store.promoteScheduled(ACCOUNT, 100),
    ]);
    expect(lanes.flat()).toEqual(Array.from({ length: 19 }, () => NUMBER));
    expect(await store.nextScheduledInMs(ACCOUNT)).toBeUndefined();
    const expected = [...orders.slice(3), ...orders.slice(0, 3)].map(({ id }) => id);
    expect(await redis.lrange(`${prefix}:{${ACCOUNT}}:lane:${NUMBER}`, 0, -1)).toEqual(
      expected.filter((id) => id !== cancelled),
    );
    expect((await found(expected[0] ?? '')).state).toMatchObject({ status: 'queued', revision: 1 });
  });

  it('are reported to event streams with the status `queued` when they are moved to their lanes', async () => {
    const { order } = await insert({ sendAt: Date.now() + 1 });
    await eventually('the send is due', async () => (await store.nextScheduledInMs(ACCOUNT)) === 0);
    const listener = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
    try {
      await listener.subscribe(channelOfConversationChanges(accountKeys(prefix, ACCOUNT)));
      const message = once(listener, 'message') as Promise<[channel: string, text: string]>;
      await store.promoteScheduled(ACCOUNT, 10);
      const [, text] = await message;
      expect(JSON.parse(text.replace(/^send /, ''))).toMatchObject({
        ...{ id: order.id, status: 'queued', revision: 1 },
      });
    } finally {
      await closeRedis(listener);
    }
  });

  it('that are due before the next check of the schedule wake a worker when they are stored', async () => {
    await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() + 60_000 });
    expect(woken).toEqual([]);
    await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() + 200 });
    expect(woken).toEqual([NUMBER]);
    expect(await store.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
  });

  it('are removed from the schedule if their record is missing or their status is not `scheduled`', async () => {
    const scheduled = `${prefix}:{${ACCOUNT}}:scheduled`;
    const gone = await insert({ sendAt: Date.now() + 1 });
    await redis.del(`${prefix}:{${ACCOUNT}}:send:${gone.order.id}`);
    const queued = await insert();
    await redis.zadd(scheduled, 1, `0000000000000099 ${queued.order.id}`);
    const due = await insert({ sendAt: Date.now() + 1 });
    await eventually(
      'the sends are due',
      async () => (await redis.zcount(scheduled, '-inf', Date.now())) === 3,
    );
    expect(await store.promoteScheduled(ACCOUNT, 100)).toEqual([NUMBER]);
    expect(await store.nextScheduledInMs(ACCOUNT)).toBeUndefined();
    expect((await found(due.order.id)).state.status).toBe('queued');
    expect((await found(queued.order.id)).state).toEqual(queued.state);
  });

  it('are cancelled even if the cancellation races with their move to the lane', async () => {
    for (let i = 0; i < 20; i += 1) {
      const { id } = await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() + 50 });
      await eventually('the sends are due', async () => (await store.nextScheduledInMs(ACCOUNT)) === 0);
      const [, promoted] = await Promise.all([
        intake.cancel(ACCOUNT, id),
        store.promoteScheduled(ACCOUNT, 10),
      ]);
      // If the move comes first, the send is cancelled in its lane.
      expect(promoted.length).toBeLessThanOrEqual(1);
      expect((await found(id)).state.status).toBe('cancelled');
      expect(await store.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
    }
  });
});

describe('the list of sends', () => {
  const all = async (filter: SendFilter, limit = 3): Promise<string[]> => {
    const ids: string[] = [];
    let before: number | undefined;
    do {
      const page = await list.list(ACCOUNT, filter, limit, before);
      expect(page.sends.length).toBeLessThanOrEqual(limit);
      ids.push(...page.sends.map(({ id }) => id));
      before = page.next;
    } while (before !== undefined);
    return ids;
  };

  it('with a predicate of the caller reveals nothing about other sends: a page has a cursor only if another matching send follows, and the cursor is the position of the last send of the page', async () => {
    const own: string[] = [];
    for (let i = 0; i < 12; i += 1) {
      const { order: one } = await insert({ reference: i % 3 === 0 ? 'own' : 'other' });
      if (i % 3 === 0) own.unshift(one.id);
    }
    const accepts = (send: Send): Promise<boolean> => Promise.resolve(send.reference === 'own');
    const numberOf = async (id = ''): Promise<number> =>
      Number(await redis.hget(accountKeys(prefix, ACCOUNT)('send', id), 'place'));
    expect(await all({ accepts })).toEqual(own);
    const first = await list.list(ACCOUNT, { accepts }, 3);
    expect(first).toMatchObject({
      sends: own.slice(0, 3).map((id) => ({ id })),
      next: await numberOf(own[2]),
    });
    const last = await list.list(ACCOUNT, { accepts }, 1, first.next);
    expect(last.sends.map(({ id }) => id)).toEqual(own.slice(3));
    expect(last.next).toBeUndefined();
  });

  it('with a predicate of the caller examines at most 500 sends for a page', async () => {
    const { order: oldest } = await insert();
    for (let i = 0; i < 600; i += 1) await store.insert(ACCOUNT, order());
    let examined = 0;
    const accepts = ({ id }: Send): Promise<boolean> => {
      examined += 1;
      return Promise.resolve(id === oldest.id);
    };
    const page = await list.list(ACCOUNT, { accepts }, 1);
    expect({ sends: page.sends, examined }).toEqual({ sends: [], examined: 500 });
    expect((await list.list(ACCOUNT, { accepts }, 1, page.next)).sends).toMatchObject([{ id: oldest.id }]);
  });

  it('returns matching sends page by page, newest first, for any combination of filters', async () => {
    const records: SendRecord[] = [];
    for (let i = 0; i < 12; i += 1) {
      records.push(
        await insert({
          phoneNumber: i % 2 === 0 ? NUMBER : '+15550000009',
          ...(i % 3 === 0 ? { reference: 'r' } : {}),
          createdAt: 1_000,
        }),
      );
    }
    for (const record of records.slice(0, 6)) await applyAll(record, 'fenced', 'accepted');
    const ids = (holds: (i: number) => boolean): string[] =>
      records.flatMap(({ order: { id } }, i) => (holds(i) ? [id] : [])).reverse();
    expect(await all({})).toEqual(ids(() => true));
    expect(await all({ status: 'accepted' })).toEqual(ids((i) => i < 6));
    expect(await all({ reference: 'r' })).toEqual(ids((i) => i % 3 === 0));
    expect(await all({ phoneNumber: NUMBER, status: 'queued' })).toEqual(ids((i) => i % 2 === 0 && i >= 6));
    expect(await all({ phoneNumber: NUMBER, status: 'accepted', reference: 'r' })).toEqual(
      ids((i) => i % 6 === 0 && i < 6),
    );
    expect(await all({ reference: 'none' })).toEqual([]);
    // The last page has no cursor.
    expect((await list.list(ACCOUNT, {}, 12)).next).toBeUndefined();
    expect((await list.list('other', {}, 12)).sends).toEqual([]);
  });

  it('examines a bounded number of sends per page; the next page continues after the last examined send', async () => {
    const indexes = ['sends:status:queued', `sends:to:${NUMBER}`].map(
      (name) => `${prefix}:{${ACCOUNT}}:${name}`,
    );
    const wanted = await insert();
    // Ten thousand other sends, each in only one of the two indexes.
    for (const index of indexes) {
      const members = Array.from({ length: 5_000 }, (_, i) => [String(i + 10), `${index}-${i}`]);
      await redis.zadd(index, ...members.flat());
    }
    const first = await list.list(ACCOUNT, { status: 'queued', phoneNumber: NUMBER }, 10);
    expect(first.sends).toEqual([]);
    expect(first.next).toBe(3_010);
    expect(await all({ status: 'queued', phoneNumber: NUMBER })).toEqual([wanted.order.id]);
  });
});

describe('the overview of sends', () => {
  it('counts the sends of each status after transitions to most statuses, and counts none after retention has removed all sends', async () => {
    const recount = async (): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (const name of await redis.keys(`${prefix}:{${ACCOUNT}}:send:*`)) {
        const { status } = JSON.parse((await redis.hget(name, 'state')) ?? '{}') as { status: string };
        counts[status] = (counts[status] ?? 0) + 1;
      }
      return counts;
    };
    const counted = async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        Object.entries((await list.overview(ACCOUNT)).counts).filter(([, count]) => count > 0),
      );
    const paths: TransitionName[][] = [
      [],
      ['fenced'],
      ['fenced', 'not_taken'],
      ['fenced', 'accepted'],
      ['fenced', 'accepted', 'found', 'message_delivered', 'message_read'],
      ['fenced', 'ambiguous', 'marked_unknown'],
      ['fenced', 'ambiguous', 'marked_unknown', 'resolved_resend'],
      ['fenced', 'refused'],
      ['cancelled'],
      ['expired'],
    ];
    for (const path of paths) {
      const record = await insert({ reference: 'r' });
      await applyAll(record, ...path);
      expect(await counted()).toEqual(await recount());
    }
    const later = await intake.accept(ACCOUNT, { ...request, sendAt: Date.now() + 60_000 });
    expect(await counted()).toEqual(await recount());
    const { lanes, oldestQueuedMs } = await list.overview(ACCOUNT);
    expect(lanes).toEqual({ count: 1, due: 1, deepest: 4 });
    expect(oldestQueuedMs).toBeLessThan(20_000);
    await intake.cancel(ACCOUNT, later.id);
    for (
      let head = await store.laneHead(ACCOUNT, NUMBER);
      head !== undefined;
      head = await store.laneHead(ACCOUNT, NUMBER)
    )
      await applyAll(
        head.record,
        ...(head.record.state.status === 'queued' ? (['expired'] as const) : (['refused'] as const)),
      );
    expect((await list.overview(ACCOUNT)).lanes).toEqual({ count: 0, due: 0, deepest: 0 });
    expect((await list.overview(ACCOUNT)).oldestQueuedMs).toBe(0);
    // Accepted and unknown sends are removed last.
    for (let batches = 0; batches < 2; batches += 1)
      await store.trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 0 });
    expect(await counted()).toEqual({});
    expect(
      (await keys()).filter((name) => /:(sends|lanes?|awaiting|scheduled|claims|send):/.test(`${name}:`)),
    ).toEqual([`${prefix}:{${ACCOUNT}}:sends:places`]);
  });
});

describe('an update of a send that was decided before Redis lost its last writes', () => {
  it('is refused even if a later update gave the send the same revision number', async () => {
    const wanted = order();
    await store.insert(ACCOUNT, wanted);
    const queued = await store.find(ACCOUNT, wanted.id);
    if (queued === undefined) throw new Error('the send was not found');
    const snapshot = await RedisBackup.create(redis, prefix);
    const before = await store.apply(ACCOUNT, queued, {
      transition: 'fenced',
      state: fieldsKeptAcrossTransitions(queued.state),
    });
    if (before === undefined) throw new Error('the send was not fenced');
    await snapshot.restore(server);
    const cancelled = await store.apply(ACCOUNT, queued, {
      transition: 'cancelled',
      state: fieldsKeptAcrossTransitions(queued.state),
    });
    expect(cancelled?.state.revision).toBe(before.state.revision);
    const late = {
      transition: 'ambiguous',
      state: { ...fieldsKeptAcrossTransitions(before.state), phase: 'looking' },
    } as const;
    expect(await store.apply(ACCOUNT, before, late)).toBeUndefined();
    expect((await store.find(ACCOUNT, wanted.id))?.state.status).toBe('cancelled');
  });
});
