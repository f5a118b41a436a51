import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { readRedisTime } from '#platform';
import {
  deliveryId,
  type DeliveryStore,
  type NewEndpoint,
  RedisDeliveryDueTimeReader,
  RedisEndpointHealth,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { setBackClock } from '../../support/set-back-clock.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

type Claimed = Extract<Awaited<ReturnType<DeliveryStore['claim']>>, { kind: 'claimed' }>;

const FAILED_ATTEMPT = { at: '', durationMs: 0, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness();
const { receiver, dispatched } = on;

async function subscribe(url: string, request: Partial<NewEndpoint> = {}): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url, ...request })).endpoint.id;
}
const paceOf = (id: string): Promise<Record<string, string>> =>
  on.harness.redis.hgetall(`${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:speed`);

/** Makes an endpoint that fails appear to have failed for `ms` milliseconds longer. */
const failsLongerBy = (id: string, ms: number): Promise<number> =>
  on.harness.redis.hincrby(`${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:speed`, 'failingSince', -ms);

/** An endpoint whose deliveries the test claims and settles itself. */
class ByHand {
  private constructor(readonly id: string) {}

  static async of(events: number, request: Partial<NewEndpoint> = {}): Promise<ByHand> {
    on.harness.jobs.lost = true;
    const byHand = new ByHand(await subscribe('http://127.0.0.1:9/', request));
    await dispatched(events);
    return byHand;
  }

  async claim(maxDeliveries = 1_000): Promise<Claimed> {
    const claimed = await on.harness.deliveries.claim(ACCOUNT, this.id, {
      defaultConcurrency: 20,
      maxDeliveries,
      leaseMs: 60_000,
    });
    if (claimed.kind === 'ended') throw new Error('ended');
    return claimed;
  }

  async settle(
    { deliveries }: Claimed,
    outcome: 'succeeded' | 'failed' | 'slower',
    { durationMs = 0, pauseMs = 0 } = {},
  ): Promise<void> {
    for (const delivery of deliveries) {
      await on.harness.deliveries.settle(
        ACCOUNT,
        delivery,
        { ...FAILED_ATTEMPT, durationMs },
        outcome === 'succeeded' ? { status: 'succeeded' } : { status: 'failed', reason: 'x' },
        { slowsDown: outcome === 'slower', pauseMs },
      );
    }
  }

  /** Current max number of concurrent requests to the endpoint. */
  async slots(): Promise<number> {
    const claimed = await this.claim();
    for (const delivery of claimed.deliveries) await on.harness.deliveries.release(ACCOUNT, delivery);
    return claimed.deliveries.length;
  }
}

describe('a webhook', () => {
  it('never has more requests in flight across all processes than its own limit allows', async () => {
    const to = await receiver(() => ({ status: 204, afterMs: 5 }));
    await subscribe(to.url, { maxConcurrency: 2 });
    for (let i = 0; i < 3; i++) on.harness.startRunner();
    await dispatched(40);
    await eventually('all events arrive', () => to.received.length === 40);
    expect(to.maxConcurrent).toBe(2);
  });

  it('receives all deliveries, and never more in any period than its rate limit allows', async () => {
    const { deliveries } = on.harness;
    const claim = deliveries.claim.bind(deliveries);
    const claims: { count: number; before: number; after: number }[] = [];
    // A claim takes place between its request and its reply, so that a busy machine cannot hide or fake a fault.
    deliveries.claim = async (...args) => {
      const before = performance.now();
      const result = await claim(...args);
      const count = result.kind === 'claimed' ? result.deliveries.length : 0;
      if (count > 0) claims.push({ count, before, after: performance.now() });
      return result;
    };
    const to = await receiver();
    const rate = 20;
    await subscribe(to.url, { rateLimitPerSecond: rate });
    for (let i = 0; i < 3; i++) on.harness.startRunner();
    await dispatched(70);
    await eventually('all events arrive', () => to.received.length === 70);
    for (const first of claims) {
      const span = claims.filter(({ before }) => before >= first.before);
      for (const last of span) {
        const count = span.reduce((sum, each) => (each.after <= last.after ? sum + each.count : sum), 0);
        const seconds = (last.after - first.before) / 1_000;
        expect(count).toBeLessThanOrEqual(Math.floor(rate * (seconds + 1)));
      }
    }
    expect(claims.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(70);
    // 70 deliveries at this rate, after a first burst of one second.
    expect(Math.max(...claims.map(({ after }) => after)) - (claims[0]?.before ?? 0)).toBeGreaterThan(2_400);
  });

  it('whose URL changes starts with a new pace: failures and pauses of the old URL do not count', async () => {
    const byHand = await ByHand.of(3);
    const claimed = await byHand.claim();
    const [first, ...others] = claimed.deliveries;
    if (first === undefined) throw new Error('nothing was claimed');
    await byHand.settle({ ...claimed, deliveries: [first] }, 'failed', { pauseMs: 60_000 });
    const speed = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${byHand.id}:speed`;
    await on.harness.redis.hset(speed, 'failingSince', Date.now() - 3_600_000);
    for (const delivery of others) await on.harness.deliveries.release(ACCOUNT, delivery);
    expect((await byHand.claim()).deliveries).toEqual([]);
    await on.harness.endpoints.change(ACCOUNT, byHand.id, { url: 'http://127.0.0.1:9/new' });
    const [next] = (await byHand.claim()).deliveries;
    if (next === undefined) throw new Error('nothing was claimed');
    const settled = await on.harness.deliveries.settle(ACCOUNT, next, FAILED_ATTEMPT, {
      status: 'failed',
      reason: 'x',
    });
    expect(settled.failingMs).toBeLessThan(3_600_000);
  });

  it('is not paused or slowed down by an attempt at its former URL that ends after the URL has changed', async () => {
    const byHand = await ByHand.of(2);
    const claimed = await byHand.claim();
    const [first, second] = claimed.deliveries;
    if (first === undefined || second === undefined) throw new Error('nothing was claimed');
    await on.harness.endpoints.change(ACCOUNT, byHand.id, { url: 'http://127.0.0.1:9/new' });
    await byHand.settle({ ...claimed, deliveries: [first] }, 'slower', { pauseMs: 3_600_000 });
    await on.harness.deliveries.release(ACCOUNT, second);
    expect((await byHand.claim()).deliveries.map(({ id }) => id)).toEqual([second.id]);
    expect(await paceOf(byHand.id)).toEqual({});
  });

  it('does not count a success at its former URL as a success at the new URL', async () => {
    const byHand = await ByHand.of(1);
    const claimed = await byHand.claim();
    await on.harness.endpoints.change(ACCOUNT, byHand.id, { url: 'http://127.0.0.1:9/new' });
    await byHand.settle(claimed, 'succeeded');
    const health = new RedisEndpointHealth(on.harness.redis, on.harness.prefix);
    expect(await health.read(ACCOUNT, [byHand.id])).toMatchObject([{ lastSuccessAt: null, pending: 0 }]);
  });

  it('with a rate limit loses no token of this limit for a claimed delivery that is not attempted', async () => {
    const byHand = await ByHand.of(1, { rateLimitPerSecond: 0.01 });
    for (let n = 0; n < 3; n += 1) {
      const { deliveries } = await byHand.claim();
      expect(deliveries).toHaveLength(1);
      for (const delivery of deliveries) await on.harness.deliveries.release(ACCOUNT, delivery);
    }
  });

  it('can be changed and removed even if the step that ends its pending deliveries fails', async () => {
    const byHand = await ByHand.of(1);
    on.harness.deliveries.endPending = () => Promise.reject(new Error('Redis does not answer'));
    const changed = await on.harness.endpoints.change(ACCOUNT, byHand.id, { enabled: false });
    expect(changed).toMatchObject({ enabled: false });
    expect(await on.harness.endpoints.remove(ACCOUNT, byHand.id)).toBe(true);
  });

  it('still gets deliveries after the clock of Redis was set back, and the attempts are recorded', async () => {
    const byHand = await ByHand.of(2, { rateLimitPerSecond: 1 });
    const speed = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${byHand.id}:speed`;
    const future = String(Date.now() + 3_600_000);
    await on.harness.redis.hset(speed, { tokens: '0', filledAt: future, failingSince: future });
    const [delivery] = (await byHand.claim()).deliveries;
    if (delivery === undefined) throw new Error('nothing was claimed');
    const settled = await on.harness.deliveries.settle(ACCOUNT, delivery, FAILED_ATTEMPT, {
      status: 'failed',
      reason: 'x',
    });
    expect(settled).toMatchObject({ isRecorded: true, failingMs: 0 });
  });

  it('with a rate below one per second receives one delivery at once and the next when the rate allows it', async () => {
    const byHand = await ByHand.of(2, { rateLimitPerSecond: 0.5 });
    const first = await byHand.claim();
    expect(first.deliveries).toHaveLength(1);
    expect(first.waitMs).toBeGreaterThan(1_900);
    expect(first.waitMs).toBeLessThanOrEqual(2_000);
    // Simulates that two seconds pass.
    const speed = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${byHand.id}:speed`;
    await on.harness.redis.hincrbyfloat(speed, 'filledAt', -2_000);
    expect((await byHand.claim()).deliveries).toHaveLength(1);
  });

  it('receives its custom headers, which never replace the standard headers', async () => {
    const to = await receiver();
    const forbidden = [
      'Webhook-Id',
      'webhook-signature',
      'Content-Type',
      'content-length',
      'HOST',
      'User-Agent',
    ];
    await subscribe(to.url, {
      headers: { 'X-Team': 'blue', ...Object.fromEntries(forbidden.map((name) => [name, 'forged'])) },
    });
    on.harness.startRunner();
    const [event] = await dispatched(1);
    await eventually('the event arrives', () => to.received.length === 1);
    const headers = to.received[0]?.headers ?? {};
    expect(headers).toMatchObject({
      'x-team': 'blue',
      'webhook-id': event?.id,
      'content-type': 'application/json',
      'user-agent': 'Tidings/1.2.3',
    });
    expect(JSON.stringify(headers)).not.toContain('forged');
  });
});

describe('a webhook that is not overloaded', () => {
  it('keeps its concurrency after a failure that does not indicate overload', async () => {
    const byHand = await ByHand.of(60);
    await byHand.settle(await byHand.claim(), 'failed');
    expect(await byHand.slots()).toBe(20);
  });
});

describe('an overloaded webhook', () => {
  it('has its concurrency halved at most once per batch of concurrent attempts, and raised by about one per batch of successes', async () => {
    const byHand = await ByHand.of(400);
    const round = await byHand.claim();
    expect(round.deliveries).toHaveLength(20);
    await byHand.settle(round, 'slower', { durationMs: 10_000 });
    expect(await byHand.slots()).toBe(10);
    const seen: number[] = [];
    for (let rounds = 0; rounds < 12; rounds++) {
      const claimed = await byHand.claim();
      seen.push(claimed.deliveries.length);
      await byHand.settle(claimed, 'succeeded');
    }
    // Each success adds 1/concurrency, so a round adds slightly less than one.
    expect(seen.slice(0, 4)).toEqual([10, 10, 11, 12]);
    expect(seen.at(-1)).toBe(20);
    expect(await paceOf(byHand.id)).toEqual({});
  });

  it('gets growing pauses between requests if even single requests overload it, until a request succeeds', async () => {
    const byHand = await ByHand.of(100, { maxConcurrency: 1 });
    const pauses: number[] = [];
    for (let n = 0; n < 8; n++) {
      await byHand.settle(await byHand.claim(), 'slower');
      const claimed = await byHand.claim();
      expect(claimed.deliveries).toEqual([]);
      pauses.push(Math.ceil((claimed.waitMs ?? 0) / 1_000));
      await on.harness.redis.hdel(
        `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${byHand.id}:speed`,
        'heldUntil',
      );
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    await byHand.settle(await byHand.claim(), 'succeeded');
    await byHand.settle(await byHand.claim(), 'slower');
    expect(Math.ceil(((await byHand.claim()).waitMs ?? 0) / 1_000)).toBe(1);
  });

  it('waits for the longest Retry-After of its concurrent attempts', async () => {
    const byHand = await ByHand.of(3);
    const [long, short] = [await byHand.claim(1), await byHand.claim(1)];
    await byHand.settle(long, 'slower', { pauseMs: 60_000 });
    await byHand.settle(short, 'slower', { pauseMs: 1_000 });
    const { deliveries, waitMs } = await byHand.claim();
    expect(deliveries).toEqual([]);
    expect(waitMs).toBeGreaterThan(50_000);
  });

  it('receives nothing until the Retry-After of a 429 reply has passed, and then all deliveries', async () => {
    const at: number[] = [];
    const to = await receiver((_, count) => {
      at.push(performance.now());
      return count === 1 ? { status: 429, headers: { 'retry-after': '1' } } : { status: 204 };
    });
    await subscribe(to.url, { maxConcurrency: 1 });
    on.harness.startRunner([0.01]);
    await dispatched(3);
    await eventually('all events arrive', () => at.length === 4);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(990);
    expect(new Set(to.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  });
});

describe('deliveries that wait because their webhook is paused', () => {
  it('are attempted at once when the URL of the webhook changes', async () => {
    const overloaded = await receiver(() => ({ status: 429, headers: { 'retry-after': '3600' } }));
    const id = await subscribe(overloaded.url);
    on.harness.startRunner([3_600]);
    await dispatched(1);
    await eventually('the pause begins', async () => Number((await paceOf(id))['heldUntil'] ?? 0) > 0);
    const replacement = await receiver();
    await dispatched(1);
    await on.harness.endpoints.change(ACCOUNT, id, { url: replacement.url });
    await eventually('the held delivery arrives', () => replacement.received.length > 0);
  });
});

describe('a webhook that is paused by a Retry-After', () => {
  const hour = 3_600_000;
  const pausedUntil = async (id: string): Promise<number | undefined> => {
    const health = new RedisEndpointHealth(on.harness.redis, on.harness.prefix);
    const [at] = (await health.read(ACCOUNT, [id])).map((one) => one.pausedUntil);
    return at == null ? undefined : Date.parse(at);
  };

  it('shows the end of the pause until the pause ends', async () => {
    const paused = await ByHand.of(2);
    expect(await pausedUntil(paused.id)).toBeUndefined();
    const before = Date.now();
    await paused.settle(await paused.claim(1), 'slower', { pauseMs: hour });
    const until = (await pausedUntil(paused.id)) ?? 0;
    expect(until).toBeGreaterThan(before + hour - 1_000);
    await on.harness.redis.hincrby(
      `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${paused.id}:speed`,
      'heldUntil',
      -2 * hour,
    );
    expect(await pausedUntil(paused.id)).toBeUndefined();
  });

  it('gets its next delivery at once when a request sets only `enabled` to true, but not when a request changes `description`', async () => {
    const paused = await ByHand.of(2);
    await paused.settle(await paused.claim(1), 'slower', { pauseMs: hour });
    await on.harness.endpoints.change(ACCOUNT, paused.id, { description: 'x', maxConcurrency: 5 });
    await on.harness.endpoints.change(ACCOUNT, paused.id, { description: 'x', enabled: true });
    expect((await paused.claim()).deliveries).toEqual([]);
    await on.harness.endpoints.change(ACCOUNT, paused.id, { enabled: true });
    expect(await pausedUntil(paused.id)).toBeUndefined();
    expect((await paused.claim()).deliveries).toHaveLength(1);
  });
});

describe('a webhook whose attempts all fail', () => {
  it('is disabled after the configured time, and one webhook.disabled event is recorded', async () => {
    const to = await receiver(() => ({ status: 500 }));
    const id = await subscribe(to.url);
    on.harness.startRunner([0.05, 0.05, 0.05, 0.05, 0.05, 0.05], { disableAfterMs: 100 });
    await dispatched(1);
    await eventually(
      'disabled',
      async () => (await on.harness.endpoints.find(ACCOUNT, id))?.enabled === false,
    );
    const reason = /^All attempts failed for 0\.0 hours\. Last error: status 500\.$/;
    expect((await on.harness.endpoints.find(ACCOUNT, id))?.disabledReason).toMatch(reason);
    const { events } = await on.harness.log.read(ACCOUNT, undefined, 100);
    const disabled = events.filter(({ type }) => type === 'webhook.disabled');
    expect(disabled).toHaveLength(1);
    expect(JSON.parse(disabled[0]?.data ?? '')).toMatchObject({ webhook: { id }, reason: expect.anything() });
    await eventually('no delivery is pending', async () => {
      const { deliveries } = await on.harness.deliveries.list(ACCOUNT, id, { limit: 1, status: 'pending' });
      return deliveries.length === 0;
    });
    expect(to.received.length).toBeLessThan(7);
  });

  it('is not disabled by a failed attempt that will be retried, even if the webhook has been failing for longer than the configured time', async () => {
    // All four attempts of the first delivery fail, and two of the second.
    const to = await receiver((_, count) => ({ status: count > 6 ? 204 : 500 }));
    const id = await subscribe(to.url);
    on.harness.startRunner([0.05, 0.05, 0.05], { disableAfterMs: 60_000 });
    const statusOf = async (event: LoggedEvent | undefined): Promise<string | undefined> =>
      (await on.harness.deliveries.find(ACCOUNT, deliveryId(event?.id ?? '', id)))?.status;
    const [first] = await dispatched(1);
    await eventually('the first delivery fails', async () => (await statusOf(first)) === 'failed');
    await failsLongerBy(id, 120_000);
    const [second] = await dispatched(1);
    await eventually('the second delivery succeeds', async () => (await statusOf(second)) === 'succeeded');
    expect((await on.harness.endpoints.find(ACCOUNT, id))?.enabled).toBe(true);
  });

  it('is disabled when a delivery has failed after its last retry, if the webhook has been failing for longer than the configured time', async () => {
    const to = await receiver(() => ({ status: 500 }));
    const id = await subscribe(to.url);
    on.harness.startRunner([0.05], { disableAfterMs: 60_000 });
    await dispatched(1);
    await eventually('the first attempt has failed', async () => 'failingSince' in (await paceOf(id)));
    await failsLongerBy(id, 120_000);
    await dispatched(1);
    await eventually('disabled', async () => !(await on.harness.endpoints.find(ACCOUNT, id))?.enabled);
  });

  it('is not disabled if an attempt has succeeded since the failure that would disable it', async () => {
    const byHand = await ByHand.of(2);
    const [failing, working] = [await byHand.claim(1), await byHand.claim(1)];
    await byHand.settle(failing, 'failed');
    const only = { failingMs: 3_600_000 };
    const pace = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${byHand.id}:speed`;
    await on.harness.redis.hset(pace, 'failingSince', Date.now() - 3_700_000);
    await byHand.settle(working, 'succeeded');
    const disable = (): Promise<boolean> => on.harness.endpointStore.disable(ACCOUNT, byHand.id, 'x', only);
    expect(await disable()).toBe(false);
    await on.harness.redis.hset(pace, 'failingSince', Date.now() - 3_500_000);
    expect(await disable()).toBe(false);
    await on.harness.redis.hset(pace, 'failingSince', Date.now() - 3_700_000);
    expect(await disable()).toBe(true);
  });

  it('keeps the time of the first failure until an attempt succeeds or the webhook is disabled', async () => {
    const byHand = await ByHand.of(100);
    const failingSince = async (): Promise<number> => Number((await paceOf(byHand.id))['failingSince'] ?? 0);
    await byHand.settle(await byHand.claim(), 'failed');
    const since = await failingSince();
    expect(since).toBeGreaterThan(0);
    await byHand.settle(await byHand.claim(), 'failed');
    expect(await failingSince()).toBe(since);
    await byHand.settle(await byHand.claim(), 'succeeded');
    expect(await failingSince()).toBe(0);
    await byHand.settle(await byHand.claim(), 'failed');
    expect(await failingSince()).toBeGreaterThan(0);
    await on.harness.endpointStore.disable(ACCOUNT, byHand.id, 'x');
    expect(await failingSince()).toBe(0);
  });

  it('leaves no Redis keys after its removal', async () => {
    const byHand = await ByHand.of(60, { rateLimitPerSecond: 1_000, ordered: true });
    await byHand.settle(await byHand.claim(), 'slower', { pauseMs: 10 });
    await on.harness.endpoints.remove(ACCOUNT, byHand.id);
    expect(await on.harness.redis.keys(`${on.harness.prefix}:*endpoint*`)).toEqual([]);
  });
});

describe("a webhook after Redis' clock was set back", () => {
  it('is paused for no longer than before, and can then get its retry and its other pending delivery', async () => {
    const { redis, prefix, deliveries } = on.harness;
    const hour = 3_600_000;
    const reader = new RedisDeliveryDueTimeReader(redis, prefix, { maxAgeMs: hour, maxCount: 1_000 });
    const endpoint = await ByHand.of(2);
    const retried = await endpoint.claim(1);
    for (const delivery of retried.deliveries)
      await deliveries.settle(
        ACCOUNT,
        delivery,
        { ...FAILED_ATTEMPT, durationMs: 0 },
        { status: 'pending', waitMs: 0 },
        { slowsDown: false, pauseMs: 5_000 },
      );
    await reader.read(ACCOUNT);
    await setBackClock(redis, prefix, hour);
    expect((await reader.read(ACCOUNT)).deliveryCheckInMs).toBeLessThanOrEqual(60_000);
    expect(
      Number((await paceOf(endpoint.id))['heldUntil']) - (await readRedisTime(redis, prefix)),
    ).toBeLessThan(5_001);
    await redis.hdel(`${prefix}:{${ACCOUNT}}:endpoint:${endpoint.id}:speed`, 'heldUntil');
    expect((await endpoint.claim()).deliveries).toHaveLength(2);
  });

  it('gets the deliveries of a contact one at a time and without a delay, if the webhook is ordered', async () => {
    const { redis, prefix } = on.harness;
    const reader = new RedisDeliveryDueTimeReader(redis, prefix, { maxAgeMs: 3_600_000, maxCount: 1_000 });
    const endpoint = await ByHand.of(3, { ordered: true });
    await reader.read(ACCOUNT);
    await setBackClock(redis, prefix, 3_600_000);
    await reader.read(ACCOUNT);
    for (let n = 0; n < 3; n += 1) {
      const claimed = await endpoint.claim();
      expect(claimed.deliveries).toHaveLength(1);
      await endpoint.settle(claimed, 'succeeded');
    }
  });
});
