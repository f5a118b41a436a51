import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import {
  BacklogRefiller,
  type DeliveryStore,
  deliveryId,
  type NewEndpoint,
  RedisDeliveriesOverviewReader,
  RedisEndpointHealth,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

type Claimed = Extract<Awaited<ReturnType<DeliveryStore['claim']>>, { kind: 'claimed' }>;

const TERMS = { defaultConcurrency: 1_000, maxDeliveries: 1_000, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
/** Max pending deliveries of an endpoint without any success. */
const MAX_PENDING_DEAD = 500;
const LATER_MS = 600_000;
/** Deadline for a test that hangs, in milliseconds. Long, because the endpoint gets its 900 events one at a time. */
const ARRIVE_WITHIN_MS = 90_000;

const on = new WithWebhookHarness({ hintsLost: true });
const { dispatched } = on;

async function subscribe(request: Partial<NewEndpoint> = {}): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ...request })).endpoint.id;
}
async function claim(id: string, terms: Partial<typeof TERMS> = {}): Promise<Claimed> {
  const claimed = await on.harness.deliveries.claim(ACCOUNT, id, { ...TERMS, ...terms });
  if (claimed.kind === 'ended') throw new Error('ended');
  return claimed;
}
async function settle({ deliveries }: Claimed, how: 'succeeded' | 'fails'): Promise<void> {
  for (const delivery of deliveries) {
    await on.harness.deliveries.settle(
      ACCOUNT,
      delivery,
      ATTEMPT,
      how === 'succeeded' ? { status: 'succeeded' } : { status: 'pending', waitMs: LATER_MS },
    );
  }
}
/** Lets one delivery succeed and returns its event id. */
async function succeedOne(id: string): Promise<string | undefined> {
  const claimed = await claim(id, { maxDeliveries: 1 });
  await settle(claimed, 'succeeded');
  return claimed.deliveries[0]?.eventId;
}
async function pending(id: string): Promise<string[]> {
  const query = { status: 'pending', limit: 30_000 } as const;
  const { deliveries } = await on.harness.deliveries.list(ACCOUNT, id, query);
  return deliveries.map(({ eventId }) => eventId).reverse();
}
/** Returns the ids of the endpoints that need work now. */
async function overdue(): Promise<string[]> {
  const all: string[] = [];
  for await (const some of on.harness.deliveries.overdue(ACCOUNT)) all.push(...some);
  return all;
}
const ids = (events: readonly LoggedEvent[]): string[] => events.map(({ id }) => id);
const refill = (id: string): Promise<void> => {
  const { endpointStore, deliveries, log, logger } = on.harness;
  return new BacklogRefiller(endpointStore, deliveries, log, logger).refill(ACCOUNT, id);
};
const keyOf = (id: string, name: string): string =>
  `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:${name}`;
/** Makes the next probe of a full backlog due. */
const probeNow = (id: string): Promise<number> => on.harness.redis.hdel(keyOf(id, 'backlog'), 'probedAt');
/** Marks the whole log as dispatched and trims it to `maxCount` events. */
async function trimLog(maxCount: number): Promise<void> {
  await on.harness.markDispatched();
  await on.harness.log.trim(ACCOUNT, { maxAgeMs: 3_600_000, maxCount });
}

describe('a delivery', () => {
  it('is stored without a body: each attempt reads the same bytes from the event log', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    if (event === undefined) throw new Error('no event');
    const delivery = deliveryId(event.id, id);
    const key = `${on.harness.prefix}:{${ACCOUNT}}:delivery:${delivery}`;
    expect(Object.keys(await on.harness.redis.hgetall(key))).not.toContain('body');
    for (let attempts = 0; attempts < 2; attempts += 1) {
      const claimed = await claim(id);
      expect(claimed.deliveries).toMatchObject([{ id: delivery, attempts, body: eventToJson(event) }]);
      await settle(claimed, 'fails');
      expect(await on.harness.deliveries.retry(ACCOUNT, delivery)).toBe('retried');
    }
  });

  it('is claimed together with fewer other deliveries if the events are large; repeated claims return every delivery once', async () => {
    const id = await subscribe();
    const data = { message: { text: 'x'.repeat(300_000) } };
    const events = await on.harness.record(20, { data });
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    const claims: number[] = [];
    const claimedIds: string[] = [];
    for (let hasMore = true; hasMore;) {
      const claimed = await claim(id);
      claims.push(claimed.deliveries.length);
      claimedIds.push(...claimed.deliveries.map(({ eventId }) => eventId));
      ({ hasMore } = claimed);
    }
    expect(claims).toEqual([7, 7, 6]);
    expect(claimedIds.sort()).toEqual(ids(events).sort());
  });

  it('ends as missed if the log no longer has its event, and does not block the next deliveries', async () => {
    const id = await subscribe({ ordered: true });
    const events = await dispatched(3);
    await trimLog(1);
    const claimed = await claim(id);
    expect([claimed.deliveries, claimed.missed, claimed.hasMore]).toEqual([[], 1, true]);
    await claim(id);
    expect((await claim(id)).deliveries).toMatchObject([{ eventId: events[2]?.id }]);
    const lost = deliveryId(events[0]?.id ?? '', id);
    expect(await on.harness.deliveries.find(ACCOUNT, lost)).toMatchObject({
      status: 'missed',
      reason: 'The event was deleted from the event log before it could be delivered.',
    });
    expect(await on.harness.deliveries.retry(ACCOUNT, lost)).toBe('lost');
  });

  it('that was missed because its event was lost can be replayed if the event log is restored', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    if (event === undefined) throw new Error('no event');
    const log = `${on.harness.prefix}:{${ACCOUNT}}:events`;
    await on.harness.redis.rename(log, `${log}:away`);
    expect((await claim(id)).missed).toBe(1);
    await on.harness.redis.rename(`${log}:away`, log);
    expect((await on.harness.deliveries.replay(ACCOUNT, id, 'missed', [event])).count).toBe(1);
    expect((await claim(id)).deliveries).toMatchObject([{ body: eventToJson(event) }]);
  });
});

describe('an attempt', () => {
  it('is recorded although Redis is full, so that the delivery is not attempted again, and the next deliveries are claimed', async () => {
    const id = await subscribe();
    await dispatched(4);
    const [first, second] = (await claim(id, { maxDeliveries: 2 })).deliveries;
    if (first === undefined || second === undefined) throw new Error('too few deliveries');
    const { redis } = on.harness;
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    await redis.config('SET', 'maxmemory', String(Math.round(used / 2)));
    try {
      const { deliveries } = on.harness;
      expect(await deliveries.settle(ACCOUNT, first, ATTEMPT, { status: 'succeeded' })).toMatchObject({
        isRecorded: true,
      });
      const retry = { status: 'pending', waitMs: LATER_MS } as const;
      expect(await deliveries.settle(ACCOUNT, second, ATTEMPT, retry)).toMatchObject({ isRecorded: true });
      const next = await claim(id);
      expect(next.deliveries).toHaveLength(2);
      await settle(next, 'succeeded');
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect(await pending(id)).toEqual([second.eventId]);
    expect((await claim(id)).deliveries).toEqual([]);
  });

  it('reports that pending deliveries must be ended, even those due later, if the webhook was disabled during the attempt', async () => {
    const id = await subscribe();
    await dispatched(1);
    const [delivery] = (await claim(id)).deliveries;
    if (delivery === undefined) throw new Error('nothing was claimed');
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: false });
    const retry = { status: 'pending', waitMs: LATER_MS } as const;
    expect(await on.harness.deliveries.settle(ACCOUNT, delivery, ATTEMPT, retry)).toMatchObject({
      hasMore: true,
    });
    // A worker ends them even if the process of the attempt does not.
    expect(await overdue()).toEqual([id]);
    await on.harness.deliveries.endPending(ACCOUNT, id);
    expect(await pending(id)).toEqual([]);
    expect(await overdue()).toEqual([]);
  });
});

describe('the backlog of a failing webhook', () => {
  it('is limited, and events above the limit are missed and can be replayed', async () => {
    const id = await subscribe();
    const events = [...(await dispatched(MAX_PENDING_DEAD - 10)), ...(await dispatched(30))];
    expect(await pending(id)).toEqual(ids(events.slice(0, MAX_PENDING_DEAD)));
    const gap = { from: events[MAX_PENDING_DEAD]?.position, to: events.at(-1)?.position };
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([gap]);
    expect((await on.harness.deliveries.replay(ACCOUNT, id, 'missed', events)).count).toBe(20);
    expect(await pending(id)).toEqual(ids(events));
  });

  it('is refilled completely if its events are so large that one read of the log does not return all of them', async () => {
    const id = await subscribe();
    const small = await dispatched(MAX_PENDING_DEAD);
    const large = await on.harness.record(50, { data: { message: { text: 'x'.repeat(100_000) } } });
    large.push(...(await on.harness.record(50, { data: { message: { text: 'x'.repeat(100_000) } } })));
    await on.harness.dispatcher.dispatch(ACCOUNT, large);
    await on.harness.markDispatched();
    const done = await succeedOne(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids([...small, ...large]).filter((event) => event !== done));
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([]);
  });

  it('keeps its order during a replay if the webhook is ordered: the replay creates no delivery for the events above the limit', async () => {
    const id = await subscribe({ ordered: true });
    const events = await dispatched(MAX_PENDING_DEAD + 10);
    expect(await on.harness.deliveries.replay(ACCOUNT, id, 'missed', events)).toEqual({
      count: 0,
      isBacklogFull: false,
    });
    const done = await succeedOne(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events).filter((event) => event !== done));
  });

  it('accepts a test event even if the backlog is full', async () => {
    const id = await subscribe();
    await dispatched(MAX_PENDING_DEAD + 1);
    const [test] = await on.harness.record(1, {
      type: 'webhook.test',
      contactId: '',
      data: { webhookId: id },
    });
    await on.harness.dispatcher.dispatch(ACCOUNT, test === undefined ? [] : [test]);
    expect(await pending(id)).toContain(test?.id);
  });

  it('is refilled from the log after the first success, in order and without duplicates', async () => {
    const id = await subscribe();
    const events = await dispatched(MAX_PENDING_DEAD + 700);
    await refill(id);
    const done = await succeedOne(id);
    const rest = ids(events).filter((event) => event !== done);
    // New events must not overtake the events that wait for a refill.
    const newest = await dispatched(2);
    expect(await pending(id)).toEqual(rest.slice(0, MAX_PENDING_DEAD));
    expect((await claim(id, { maxDeliveries: 1 })).canRefill).toBe(true);
    await Promise.all([refill(id), refill(id)]);
    expect(await pending(id)).toEqual([...rest, ...ids(newest)]);
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([]);
    const [after] = await dispatched(1);
    expect((await pending(id)).at(-1)).toBe(after?.id);
  });

  it('is refilled only with events that match the filter of the webhook', async () => {
    const id = await subscribe({ contactIds: ['c1'] });
    const wanted: LoggedEvent[] = [];
    for (let n = 0; n < 7; n += 1) {
      wanted.push(...(await dispatched(100)));
      await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(100, { contactId: 'c2' }));
    }
    const done = await succeedOne(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(wanted).filter((event) => event !== done));
  });

  it('is refilled without the events that the event log no longer contains', async () => {
    const id = await subscribe();
    const events = await dispatched(MAX_PENDING_DEAD + 300);
    await trimLog(100);
    expect((await claim(id)).missed).toBe(MAX_PENDING_DEAD);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(-100)));
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([]);
  });

  it('causes one log line with the time range of the events that were deleted before the backlog had room for them, and no log line if there are none', async () => {
    const lost = (): unknown[] => on.harness.lines.filter(({ lostFrom }) => lostFrom !== undefined);
    const timeOf = (event: LoggedEvent | undefined): string =>
      new Date(Number(event?.position.split('-')[0])).toISOString();
    const id = await subscribe();
    const events = await dispatched(MAX_PENDING_DEAD + 200);
    await settle(await claim(id), 'fails');
    await refill(id);
    expect(lost()).toEqual([]);
    await trimLog(100);
    await probeNow(id);
    await refill(id);
    await probeNow(id);
    await refill(id);
    const [lostFrom, lostUntil] = [
      timeOf(events[MAX_PENDING_DEAD + 1]),
      timeOf(events[MAX_PENDING_DEAD + 100]),
    ];
    expect(lost()).toMatchObject([{ level: 40, account: ACCOUNT, endpointId: id, lostFrom, lostUntil }]);
    await trimLog(0);
    await probeNow(id);
    await refill(id);
    expect(lost().slice(1)).toMatchObject([{ lostUntil: timeOf(events.at(-1)) }]);
  });

  it('admits one more event at intervals while it is full, because the delivery of this event may succeed', async () => {
    const id = await subscribe();
    const events = await dispatched(MAX_PENDING_DEAD + 10);
    await settle(await claim(id), 'fails');
    await refill(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(0, MAX_PENDING_DEAD + 1)));
    const agenda = Number(
      await on.harness.redis.zscore(`${on.harness.prefix}:{${ACCOUNT}}:webhooks:agenda`, id),
    );
    expect(agenda).toBeLessThan(Date.now() + 25_000);
    await probeNow(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(0, MAX_PENDING_DEAD + 2)));
    // The admitted event succeeds, so the backlog is refilled.
    await settle(await claim(id), 'succeeded');
    await refill(id);
    expect((await pending(id)).slice(-8)).toEqual(ids(events.slice(-8)));
  });

  it('admits the next matching event without delay, even if a whole page of the event log has no event that matches the filter of the webhook', async () => {
    const id = await subscribe({ contactIds: ['c1'] });
    const events = await dispatched(MAX_PENDING_DEAD + 1);
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(60, { contactId: 'c2' }));
    const [next] = await dispatched(1);
    await settle(await claim(id), 'fails');
    await refill(id);
    expect(await pending(id)).toEqual(ids(events));
    await probeNow(id);
    await refill(id);
    expect(await pending(id)).toEqual([...ids(events), next?.id]);
  });

  it('gets the lower limit for failing webhooks only after one minute of failures, if a delivery succeeded before the failures', async () => {
    const id = await subscribe();
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    await dispatched(MAX_PENDING_DEAD + 10);
    expect(await pending(id)).toHaveLength(MAX_PENDING_DEAD + 10);
    await settle(await claim(id, { maxDeliveries: 1 }), 'fails');
    await dispatched(1);
    expect(await pending(id)).toHaveLength(MAX_PENDING_DEAD + 11);
    await on.harness.redis.hset(keyOf(id, 'speed'), 'failingSince', Date.now() - 61_000);
    await dispatched(1);
    expect(await pending(id)).toHaveLength(MAX_PENDING_DEAD + 11);
  });

  it('shows since when events wait above the limit, until all of them have deliveries', async () => {
    const { redis, prefix } = on.harness;
    const id = await subscribe();
    const waitingSince = async (): Promise<string | null | undefined> =>
      (await new RedisEndpointHealth(redis, prefix).read(ACCOUNT, [id]))[0]?.waitingSince;
    const oldestWaitingMs = async (): Promise<number> =>
      (await new RedisDeliveriesOverviewReader(redis, prefix).overview(ACCOUNT)).oldestWaitingMs;
    await dispatched(MAX_PENDING_DEAD);
    expect([await waitingSince(), await oldestWaitingMs()]).toEqual([null, 0]);
    const [first] = await dispatched(2);
    expect(await waitingSince()).toBe(new Date(Number.parseInt(first?.position ?? '', 10)).toISOString());
    await eventually('the oldest of them gets older', async () => (await oldestWaitingMs()) > 0);
    await succeedOne(id);
    await refill(id);
    expect([await waitingSince(), await oldestWaitingMs()]).toEqual([null, 0]);
  });

  it('counts as missed after the webhook is disabled, together with the events above the limit, even if retention removes the deliveries', async () => {
    const id = await subscribe();
    const events = await dispatched(MAX_PENDING_DEAD + 10);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: false });
    const meanwhile = await dispatched(5);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    await refill(id);
    expect(await pending(id)).toEqual([]);
    await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: 0, maxCount: 0 });
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([
      { from: events[0]?.position, to: meanwhile.at(-1)?.position },
    ]);
    const all = [...events, ...meanwhile];
    expect((await on.harness.deliveries.replay(ACCOUNT, id, 'missed', all)).count).toBe(all.length);
  });

  it('is delivered completely and in order once the webhook recovers, if the webhook is ordered', async () => {
    let isBack = false;
    const to = await on.receiver(() => ({ status: isBack ? 204 : 500 }));
    const id = await subscribe({ url: to.url, ordered: true });
    on.harness.jobs.lost = false;
    const runner = on.harness.startRunner([0.05, 0.05, ...Array.from({ length: 200 }, () => 0.2)]);
    const events = await dispatched(MAX_PENDING_DEAD + 400);
    await eventually('an attempt was made', () => to.received.length > 2);
    isBack = true;
    const from = to.received.length;
    await eventually(
      'all arrived',
      async () => {
        await runner.reconcile(ACCOUNT);
        return (
          (await pending(id)).length === 0 && (await on.harness.deliveries.gaps(ACCOUNT, id)).length === 0
        );
      },
      ARRIVE_WITHIN_MS,
    );
    const arrived = to.received.slice(from).map(({ headers }) => headers['webhook-id']);
    expect([...new Set(arrived)]).toEqual(ids(events));
  });
});

describe('the backlog of a working webhook', () => {
  it('is refilled at most once per second while less than a tenth of its limit is free', async () => {
    const id = await subscribe();
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    const others = Array.from({ length: 19_999 }, (_, n) => `other-${n}`);
    const list = keyOf(id, 'deliveries:pending');
    await on.harness.redis.zadd(list, ...others.flatMap((other, n) => [n, other]));
    const events = await dispatched(6);
    const made = async (): Promise<number> => {
      const { deliveries } = on.harness;
      const found = await Promise.all(
        events.map((event) => deliveries.find(ACCOUNT, deliveryId(event.id, id))),
      );
      return found.filter((delivery) => delivery !== undefined).length;
    };
    expect(await made()).toBe(1);
    await on.harness.redis.zrem(list, ...others.slice(0, 3));
    await refill(id);
    expect(await made()).toBe(4);
    await on.harness.redis.zrem(list, ...others.slice(3, 100));
    await on.harness.redis.hset(keyOf(id, 'backlog'), 'refilledAt', Date.now() + 60_000);
    await refill(id);
    expect(await made()).toBe(4);
    await on.harness.redis.hset(keyOf(id, 'backlog'), 'refilledAt', Date.now() - 1_000);
    await refill(id);
    expect(await made()).toBe(6);
  });
});
