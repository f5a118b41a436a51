import { describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import {
  type DeliveryStore,
  deliveryId,
  type ReplayScope,
  EventReplayer,
  RedisDeliveryDueTimeReader,
} from '#webhooks';
import { setBackClock } from '../../support/set-back-clock.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

type Claimed = Extract<Awaited<ReturnType<DeliveryStore['claim']>>, { kind: 'claimed' }>;
type ClaimedDelivery = Claimed['deliveries'][number];

const on = new WithWebhookHarness();
const { dispatched } = on;
const LATER_MS = 600_000;
const SHORT_WAIT_MS = 120_000;
/** Max deliveries that one success makes due. */
const MAX_PER_SUCCESS = 10;
/** Max waiting deliveries that one success examines. */
const MAX_EXAMINED = 100;
/** Time of failure after which an endpoint counts as unreachable, in milliseconds. */
const AWAY_MS = 5_000;

async function subscribe(ordered = false): Promise<string> {
  on.harness.jobs.lost = true;
  const url = 'http://127.0.0.1:9/';
  return (await on.harness.endpoints.create(ACCOUNT, { url, ordered })).endpoint.id;
}

async function claim(id: string, maxDeliveries = 1_000): Promise<ClaimedDelivery[]> {
  const claimed = await on.harness.deliveries.claim(ACCOUNT, id, {
    defaultConcurrency: 1_000,
    maxDeliveries,
    leaseMs: 60_000,
  });
  if (claimed.kind === 'ended') throw new Error('ended');
  return claimed.deliveries;
}

async function settle(
  claimed: readonly ClaimedDelivery[],
  how: 'succeeded' | 'fails',
  requestedMs = 0,
  waitMs = LATER_MS,
): Promise<void> {
  const attempt = { at: '', durationMs: 0, statusCode: 500, reply: '', error: null };
  for (const delivery of claimed)
    await on.harness.deliveries.settle(
      ACCOUNT,
      delivery,
      attempt,
      how === 'succeeded' ? { status: 'succeeded' } : { status: 'pending', waitMs, requestedMs },
    );
}

/** Makes the endpoint appear to have failed for `ms` milliseconds. */
async function awayFor(id: string, ms: number): Promise<void> {
  const pace = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:speed`;
  await on.harness.redis.hset(pace, 'failingSince', Date.now() - ms);
}

/** Creates an endpoint with `count` deliveries that failed once and wait for their retry. */
async function failing(count: number): Promise<string> {
  const id = await subscribe();
  await dispatched(count);
  await settle(await claim(id), 'fails');
  expect(await claim(id)).toEqual([]);
  await awayFor(id, AWAY_MS);
  return id;
}

describe('the deliveries of a webhook', () => {
  it('are claimed again at once if the client repeats a claim whose reply was lost, even if another process claimed other deliveries meanwhile', async () => {
    const id = await subscribe();
    await dispatched(3);
    const call = jest.spyOn(on.harness.redis, 'call');
    await claim(id, 1);
    const [command, args] = call.mock.lastCall as unknown as [string, string[]];
    call.mockRestore();
    const others = await claim(id, 1);
    const reply = (await on.harness.redis.call(command, args)) as unknown[];
    const claimed = [...others, ...(await claim(id))].map((delivery) => delivery.id);
    expect(new Set([reply[5], ...claimed]).size).toBe(3);
  });

  it('are claimed again at once if the client repeats a claim whose reply was lost with the connection', async () => {
    const id = await subscribe(true);
    await dispatched(3);
    const call = jest.spyOn(on.harness.redis, 'call');
    const claimed = await claim(id);
    const [command, args] = call.mock.lastCall as unknown as [string, string[]];
    call.mockRestore();
    const reply = (await on.harness.redis.call(command, args)) as unknown[];
    expect(claimed).toHaveLength(1);
    expect(reply[5]).toBe(claimed[0]?.id);
    await settle(claimed, 'succeeded');
    expect(await claim(id)).toHaveLength(1);
  });

  it('are ended by a worker at once if the process that disabled the webhook is interrupted', async () => {
    const id = await failing(600);
    const { deliveries, endpointStore, redis } = on.harness;
    await deliveries.endPending(ACCOUNT, 'whk_none');
    await endpointStore.disable(ACCOUNT, id, 'x');
    const call: typeof redis.call = redis.call.bind(redis);
    const interrupted = jest.spyOn(redis, 'call');
    interrupted.mockImplementationOnce(call).mockRejectedValueOnce(new Error('interrupted'));
    await expect(deliveries.endPending(ACCOUNT, id)).rejects.toThrow('interrupted');
    interrupted.mockRestore();
    const due: string[] = [];
    for await (const ids of deliveries.overdue(ACCOUNT)) due.push(...ids);
    expect(due).toEqual([id]);
    await deliveries.endPending(ACCOUNT, id);
    expect((await deliveries.list(ACCOUNT, id, { limit: 1, status: 'pending' })).deliveries).toEqual([]);
  });
});

describe('a successful delivery to a webhook that was failing', () => {
  it('makes a few waiting deliveries due at once; each further success makes a few more due', async () => {
    const id = await failing(25);
    await dispatched(1);
    let waiting = 25;
    for (let success = await claim(id, 1); success.length > 0; success = await claim(id, 1)) {
      await settle(success, 'succeeded');
      waiting -= 1;
      const due = await on.harness.redis.zcount(
        `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:due`,
        '-inf',
        Date.now(),
      );
      expect(due).toBeLessThanOrEqual(MAX_PER_SUCCESS * (25 - waiting));
    }
    expect(waiting).toBe(-1);
  });

  it("makes waiting deliveries due at once even if Redis' clock was set back during the outage", async () => {
    const id = await failing(1);
    const { redis, prefix } = on.harness;
    const reader = new RedisDeliveryDueTimeReader(redis, prefix, { maxAgeMs: LATER_MS, maxCount: 1_000 });
    await reader.read(ACCOUNT);
    await setBackClock(redis, prefix, 3_600_000);
    await reader.read(ACCOUNT);
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toHaveLength(1);
  });

  it('makes waiting deliveries due at once even if the URL of the webhook was changed during the outage', async () => {
    const id = await failing(25);
    await on.harness.endpoints.change(ACCOUNT, id, { url: 'http://127.0.0.1:9/mended' });
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toHaveLength(MAX_PER_SUCCESS);
  });

  it('makes no waiting delivery due if the webhook was disabled and enabled again during the outage and has since failed for only a short time', async () => {
    const id = await failing(1);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: false });
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    await dispatched(1);
    await settle(await claim(id), 'fails');
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toEqual([]);
  });

  it('brings forward each waiting delivery at most three times, even after further outages', async () => {
    const id = await failing(1);
    let attempts = 0;
    for (let outage = 0; outage < 10; outage += 1) {
      await dispatched(1);
      await settle(await claim(id), 'succeeded');
      const poison = await claim(id);
      attempts += poison.length;
      await settle(poison, 'fails');
      await awayFor(id, AWAY_MS);
    }
    expect(attempts).toBe(3);
  });

  it('makes no waiting delivery due before the time that the receiver requested by Retry-After', async () => {
    const id = await subscribe();
    await dispatched(2);
    const [long, short] = await claim(id);
    if (long === undefined || short === undefined) throw new Error('two deliveries were expected');
    await settle([long], 'fails', LATER_MS);
    await settle([short], 'fails', SHORT_WAIT_MS);
    const nextAttempt = async ({ id: delivery }: ClaimedDelivery): Promise<number> =>
      Date.parse((await on.harness.deliveries.find(ACCOUNT, delivery))?.nextAttemptAt ?? '');
    const before = await nextAttempt(long);
    await awayFor(id, AWAY_MS);
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toEqual([]);
    expect(await nextAttempt(long)).toBe(before);
    // Both failed at nearly the same time, and the schedule alone would make both wait for ten minutes.
    const earlierMs = before - (await nextAttempt(short));
    expect(earlierMs).toBeGreaterThan(LATER_MS - 2 * SHORT_WAIT_MS);
    expect(earlierMs).toBeLessThanOrEqual(LATER_MS - SHORT_WAIT_MS);
  });

  it('makes no waiting delivery due if the webhook was failing for only a short time', async () => {
    const id = await failing(3);
    await awayFor(id, 1_000);
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toEqual([]);
  });

  it('makes no waiting delivery due early if an earlier success has already made all waiting deliveries due', async () => {
    const id = await failing(1);
    await dispatched(2);
    const [one, two] = await claim(id);
    await settle(one === undefined ? [] : [one], 'succeeded');
    // This success ended the outage: the waiting delivery becomes due, fails again, and waits.
    await settle(await claim(id), 'fails');
    await settle(two === undefined ? [] : [two], 'succeeded');
    expect(await claim(id)).toEqual([]);
  });

  it('makes deliveries due even if they wait behind many others whose Retry-After has not passed', async () => {
    const id = await subscribe();
    await dispatched(2 * MAX_EXAMINED + 25);
    const claimed = await claim(id);
    await settle(claimed.slice(0, 2 * MAX_EXAMINED + 20), 'fails', LATER_MS);
    const behind = claimed.slice(2 * MAX_EXAMINED + 20);
    await settle(behind, 'fails');
    await awayFor(id, AWAY_MS);
    await dispatched(3);
    const successes = await claim(id);
    for (const success of successes.slice(0, 2)) await settle([success], 'succeeded');
    expect(await claim(id)).toEqual([]);
    await settle(successes.slice(2), 'succeeded');
    expect(new Set((await claim(id)).map(({ id: delivery }) => delivery))).toEqual(
      new Set(behind.map(({ id: delivery }) => delivery)),
    );
  });

  it('starts again with the earliest waiting delivery after a second outage', async () => {
    const id = await subscribe();
    await dispatched(MAX_EXAMINED + 1);
    await settle(await claim(id), 'fails', LATER_MS);
    await awayFor(id, AWAY_MS);
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    const [event] = await dispatched(1);
    await settle(await claim(id), 'fails', 0, SHORT_WAIT_MS);
    await awayFor(id, AWAY_MS);
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    expect(await claim(id)).toMatchObject([{ eventId: event?.id }]);
  });

  it('resumes the lanes of an ordered webhook, and the deliveries of each lane stay in order', async () => {
    const id = await subscribe(true);
    const events = await dispatched(3);
    const [first] = await claim(id);
    await settle(first === undefined ? [] : [first], 'fails');
    expect(await claim(id)).toEqual([]);
    await awayFor(id, AWAY_MS);
    const other = await on.harness.record(1, { contactId: 'c2' });
    await on.harness.dispatcher.dispatch(ACCOUNT, other);
    await settle(await claim(id), 'succeeded');
    const order: string[] = [];
    for (let next = await claim(id); next.length > 0; next = await claim(id)) {
      order.push(...next.map(({ eventId }) => eventId));
      await settle(next, 'succeeded');
    }
    expect(order).toEqual(events.map(({ id: eventId }) => eventId));
  });
});

describe('a delivery that waits for its next attempt', () => {
  it('becomes due at once by a manual retry, and its retry schedule continues', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    await settle(await claim(id), 'fails');
    const delivery = deliveryId(event?.id ?? '', id);
    expect(await on.harness.deliveries.retry(ACCOUNT, delivery)).toBe('retried');
    const claimed = await claim(id);
    expect(claimed).toMatchObject([{ id: delivery, attempts: 1 }]);
    // A delivery under way does not change.
    expect(await on.harness.deliveries.retry(ACCOUNT, delivery)).toBe('retried');
    expect(await claim(id)).toEqual([]);
  });

  it.each([
    ['pending', 3],
    ['failed', 0],
    ['missed', 0],
    ['all', 0],
  ] as [ReplayScope, number][])(
    'becomes due through a replay with `only: pending`, and through no other replay (only: %s, %d of 3 deliveries become due)',
    async (scope, count) => {
      const id = await subscribe();
      const window = { since: Date.now() - 60_000, until: Date.now() + 60_000 };
      await dispatched(3);
      await settle(await claim(id), 'fails');
      const { endpointStore, deliveries, log, jobs } = on.harness;
      const replays = new EventReplayer(endpointStore, deliveries, log, jobs, createLogger('test', 'silent'));
      expect(await replays.start(ACCOUNT, id, { ...window, scope })).toBe(count);
      expect(await claim(id)).toHaveLength(count);
    },
  );
});
