import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import {
  deliveryId,
  type DeliveryRunner,
  EventDispatcher,
  RecentEventCache,
  RedisDeliveryStore,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 20, maxDeliveries: 50, leaseMs: 60_000 };

const on = new WithWebhookHarness();

/** Claims deliveries as a process that has these events. Returns the bodies by event, and whether more are due. */
async function claimWith(
  recent: RecentEventCache,
  endpointId: string,
): Promise<{ bodies: Map<string, string>; hasMore: boolean }> {
  const store = new RedisDeliveryStore(on.harness.redis, on.harness.prefix, recent);
  const claimed = await store.claim(ACCOUNT, endpointId, TERMS);
  if (claimed.kind === 'ended') throw new Error('the endpoint has ended');
  const { deliveries, hasMore } = claimed;
  return { bodies: new Map(deliveries.map(({ eventId, body }) => [eventId, body])), hasMore };
}

/** Returns a dispatcher whose process delivers with this runner. Adds the accounts of scheduled checks to `checks`. */
function dispatcherWith(runner: DeliveryRunner, checks: string[] = []): EventDispatcher {
  return new EventDispatcher(
    on.harness.endpointStore,
    on.harness.deliveries,
    on.harness.jobs,
    createLogger('test', 'silent'),
    undefined,
    { runner, recovery: { checkLater: (account) => checks.push(account) } },
  );
}

describe('a process that keeps recently read events in memory', () => {
  it('claims deliveries with the same event bodies as a process that reads the events from the event log', async () => {
    on.harness.jobs.lost = true;
    const to = await on.receiver();
    const [one, two] = [
      (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint.id,
      (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint.id,
    ];
    const events = await on.harness.record(3);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    const recent = new RecentEventCache();
    recent.add(ACCOUNT, events);
    const mine = await claimWith(recent, one);
    expect(mine.bodies.size).toBe(3);
    expect(mine.bodies).toEqual((await claimWith(new RecentEventCache(), two)).bodies);
  });

  it('reads an event from the event log at its next claim of deliveries if the event is not in its memory', async () => {
    on.harness.jobs.lost = true;
    const to = await on.receiver();
    const { id } = (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint;
    const events = await on.harness.record(3);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    const recent = new RecentEventCache();
    recent.add(ACCOUNT, events.slice(0, 1));
    recent.add(ACCOUNT, events.slice(2));
    const first = await claimWith(recent, id);
    expect([...first.bodies.keys()].sort()).toEqual([events[0]?.id, events[2]?.id].sort());
    expect(first.hasMore).toBe(true);
    expect([...(await claimWith(recent, id)).bodies.keys()]).toEqual([events[1]?.id]);
  });

  it('starts the deliveries itself if it dispatches a few events, and creates jobs that any process can run if it dispatches many', async () => {
    const to = await on.receiver();
    const { id } = (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint;
    const checks: string[] = [];
    const dispatcher = dispatcherWith(on.harness.startRunner(), checks);
    on.harness.jobs.lost = true;
    const few = await on.harness.record(20);
    await dispatcher.dispatch(ACCOUNT, few);
    await eventually('all few events arrive', () => to.received.length === 20);
    expect([on.harness.jobs.hints, checks]).toEqual([[], [ACCOUNT]]);
    await dispatcher.dispatch(ACCOUNT, await on.harness.record(21));
    expect(on.harness.jobs.hints).toEqual([{ endpointIds: [id], delayMs: 0 }]);
  });

  it('delivers one event to 200 webhooks without wake-up jobs, although the claim for a webhook first acquires more attempt slots than it has deliveries', async () => {
    on.harness.jobs.lost = true;
    const to = await on.receiver();
    const create = (_: unknown, n: number): Promise<unknown> =>
      on.harness.endpoints.create(ACCOUNT, { url: `${to.url}/${n}` });
    await Promise.all(Array.from({ length: 200 }, create));
    const dispatcher = dispatcherWith(on.harness.startRunner());
    await dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await eventually('all webhooks get the event', () => to.received.length === 200, 20_000);
    expect(new Set(to.received.map(({ path }) => path)).size).toBe(200);
    expect(on.harness.jobs.hints).toEqual([]);
  });

  it('leaves deliveries to the other processes when it shuts down', async () => {
    const to = await on.receiver();
    const { id } = (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint;
    const runner = on.harness.startRunner();
    await runner.drain(1_000);
    on.harness.jobs.lost = true;
    const [event] = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, event === undefined ? [] : [event]);
    expect(runner.tryWork(ACCOUNT, [id])).toBe(false);
    await runner.work(ACCOUNT, id);
    const { deliveries } = await on.harness.deliveries.list(ACCOUNT, id, { limit: 10 });
    expect(deliveries).toMatchObject([{ status: 'pending', attempts: [] }]);
    expect(to.received).toEqual([]);
  });

  it('wakes the other processes at its shutdown for a webhook that still waits for a slot', async () => {
    on.harness.jobs.lost = true;
    const to = await on.receiver(() => 'hang');
    const create = async (): Promise<string> =>
      (await on.harness.endpoints.create(ACCOUNT, { url: to.url })).endpoint.id;
    const [hangs, waits] = [await create(), await create()];
    const runner = on.harness.startRunner([], { attemptSlots: 1, timeoutMs: 300 });
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await runner.work(ACCOUNT, hangs);
    on.harness.jobs.hints.length = 0;
    const waiting = runner.work(ACCOUNT, waits);
    const drained = runner.drain(60_000);
    await waiting;
    expect(on.harness.jobs.hints).toEqual([{ endpointIds: [waits], delayMs: 0 }]);
    await drained;
  });
});

it('delivery attempts that are recorded together have the same effects as attempts that are recorded one by one', async () => {
  on.harness.jobs.lost = true;
  const ids = [];
  for (const ordered of [false, true]) {
    const { endpoint } = await on.harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ordered });
    ids.push(endpoint.id);
  }
  const events = await on.harness.record(3);
  await on.harness.dispatcher.dispatch(ACCOUNT, events);
  const store = on.harness.deliveries;
  const claims = [];
  for (const id of ids) {
    const claimed = await store.claim(ACCOUNT, id, TERMS);
    if (claimed.kind === 'claimed') claims.push(...claimed.deliveries);
  }
  // All three of the first endpoint, and the first in the order of the second.
  expect(claims).toHaveLength(4);
  const attempt = { at: '', durationMs: 1, statusCode: 204, reply: '', error: null };
  const throttling = { slowsDown: false, pauseMs: 0 };
  const settlements = [
    { status: 'succeeded' },
    { status: 'failed', reason: 'x' },
    { status: 'pending', waitMs: 60_000 },
    { status: 'succeeded' },
  ] as const;
  const finished = claims.map((delivery, n) => {
    const settlement = settlements[n];
    if (settlement === undefined) throw new Error('too many claims');
    return { delivery, attempt, settlement, throttling };
  });
  const mixed = [0, 3, 1, 2].flatMap((n) => finished[n] ?? []);
  const results = await store.settleAll(ACCOUNT, mixed);
  expect(results.map(({ isRecorded }) => isRecorded)).toEqual([true, true, true, true]);
  expect(results.map(({ hasMore }) => hasMore)).toEqual([false, true, false, false]);
  const shown = await Promise.all(claims.map(({ id }) => store.find(ACCOUNT, id)));
  expect(shown.map((one) => [one?.status, one?.reason, one?.attempts.length])).toEqual([
    ['succeeded', null, 1],
    ['failed', 'x', 1],
    ['pending', null, 1],
    ['succeeded', null, 1],
  ]);
  expect((await store.settleAll(ACCOUNT, mixed)).map(({ isRecorded }) => isRecorded)).toEqual(
    mixed.map(() => false),
  );
  // The order goes on with the second event.
  const next = await store.claim(ACCOUNT, ids[1] ?? '', TERMS);
  expect(next.kind === 'claimed' && next.deliveries.map(({ id }) => id)).toEqual([
    deliveryId(events[1]?.id ?? '', ids[1] ?? ''),
  ]);
});
