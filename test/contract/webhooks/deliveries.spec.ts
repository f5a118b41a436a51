import { describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventToJson, type LoggedEvent } from '#events';
import { type DeliveryClient, type Delivery, deliveryId } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import type { Receiver } from './receiver.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const on = new WithWebhookHarness();
const { receiver } = on;

async function subscribe(
  to: Receiver,
  request: { eventTypes?: string[]; maxConcurrency?: number } = {},
): Promise<{ id: string; secret: string }> {
  const { endpoint, secret } = await on.harness.endpoints.create(ACCOUNT, { url: to.url, ...request });
  return { id: endpoint.id, secret };
}

async function find(event: LoggedEvent | undefined, endpointId: string): Promise<Delivery> {
  const delivery = await on.harness.deliveries.find(ACCOUNT, deliveryId(event?.id ?? '', endpointId));
  if (delivery === undefined) throw new Error('no such delivery');
  return delivery;
}

const finished = (event: LoggedEvent | undefined, endpointId: string) => async (): Promise<boolean> =>
  (await find(event, endpointId)).finishedAt !== null;

describe('a delivery', () => {
  it('has the logged event as body and a signature that the Standard Webhooks library accepts', async () => {
    const to = await receiver();
    const { id, secret } = await subscribe(to);
    on.harness.startRunner();
    const [event] = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, event === undefined ? [] : [event]);
    await eventually('the delivery has succeeded', finished(event, id));
    const [got] = to.received;
    expect(got?.body).toBe(event === undefined ? '' : eventToJson(event));
    expect(new Webhook(secret).verify(got?.body ?? '', got?.headers as Record<string, string>)).toMatchObject(
      {
        id: event?.id,
        type: 'message.received',
      },
    );
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Tidings/1.2.3',
      'webhook-id': event?.id,
    });
    expect(await find(event, id)).toMatchObject({
      status: 'succeeded',
      contactId: 'c1',
      nextAttemptAt: null,
      attempts: [{ statusCode: 204, error: null, reply: '' }],
    });
  });

  it('is created once, even if its event is dispatched repeatedly', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const runner = on.harness.startRunner();
    const events = await on.harness.record(3);
    await Promise.all([1, 2, 3].map(() => on.harness.dispatcher.dispatch(ACCOUNT, events)));
    await eventually('all deliveries succeeded', async () => {
      const all = await Promise.all(events.map((event) => finished(event, id)()));
      return all.every(Boolean);
    });
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await runner.work(ACCOUNT, id);
    await runner.drain(5_000);
    expect(to.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      events.map((e) => e.id).sort(),
    );
  });

  it('is created for each enabled webhook whose filter matches; a test event goes only to the webhook that it names', async () => {
    const [all, sends, other, disabled] = [
      await receiver(),
      await receiver(),
      await receiver(),
      await receiver(),
    ];
    await subscribe(all);
    const named = await subscribe(sends, { eventTypes: ['send.*'] });
    await on.harness.endpoints.create(ACCOUNT, { url: other.url, contactIds: ['c2'] });
    await on.harness.endpoints.create(ACCOUNT, { url: disabled.url, enabled: false });
    const runner = on.harness.startRunner();
    await on.harness.dispatcher.dispatch(ACCOUNT, [
      ...(await on.harness.record(1)),
      ...(await on.harness.record(1, { contactId: 'c2' })),
      ...(await on.harness.record(1, { type: 'send.accepted', contactId: '' })),
      ...(await on.harness.record(1, { type: 'webhook.test', contactId: '', data: { webhookId: named.id } })),
    ]);
    await eventually(
      'all arrived',
      () => all.received.length + sends.received.length + other.received.length === 6,
    );
    await runner.drain(5_000);
    const types = (to: Receiver): string[] =>
      to.received.map(({ body }) => (JSON.parse(body) as { type: string }).type).sort();
    expect(types(all)).toEqual(['message.received', 'message.received', 'send.accepted']);
    expect(types(sends)).toEqual(['send.accepted', 'webhook.test']);
    expect(types(other)).toEqual(['message.received']);
    expect(disabled.received).toEqual([]);
  });

  it('causes one log line per attempt, without the body and without the secret of the webhook', async () => {
    const to = await receiver((_, count) => ({ status: count === 1 ? 500 : 204 }));
    const { id, secret } = await subscribe(to);
    on.harness.startRunner([0]);
    const events = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('the delivery has succeeded', finished(events[0], id));
    await eventually('the attempt is logged', () => on.harness.lines.length === 2);
    expect(on.harness.lines).toMatchObject([
      { endpointId: id, eventId: events[0]?.id, attempt: 1, status: 500, decision: 'retry in 0 ms' },
      { endpointId: id, eventId: events[0]?.id, attempt: 2, status: 204, decision: 'succeeded' },
    ]);
    expect(JSON.stringify(on.harness.lines)).not.toContain('Grüße');
    expect(JSON.stringify(on.harness.lines)).not.toContain(secret);
  });

  it('whose attempt is recorded is not logged as failed if the next claim fails', async () => {
    const to = await receiver();
    await subscribe(to, { maxConcurrency: 1 });
    const { deliveries, dispatcher, lines } = on.harness;
    const claim = deliveries.claim.bind(deliveries);
    const claims = jest.spyOn(deliveries, 'claim');
    claims.mockImplementationOnce(claim).mockRejectedValueOnce(new Error('interrupted'));
    on.harness.startRunner();
    await dispatcher.dispatch(ACCOUNT, await on.harness.record(2));
    await eventually('the failure is logged', () => lines.length === 2);
    claims.mockRestore();
    expect(lines).toMatchObject([
      { decision: 'succeeded' },
      { msg: 'could not claim the due deliveries of a webhook; a periodic task tries again' },
    ]);
  });

  it('whose attempt is recorded is not logged as failed if the pending deliveries of its webhook cannot be ended', async () => {
    const to = await receiver(() => ({ status: 410 }));
    await subscribe(to);
    const { deliveries, dispatcher, lines } = on.harness;
    const ends = jest.spyOn(deliveries, 'endPending').mockRejectedValueOnce(new Error('interrupted'));
    on.harness.startRunner();
    await dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await eventually('the failure is logged', () => lines.length === 2);
    ends.mockRestore();
    expect(lines).toMatchObject([
      { decision: 'failed' },
      { msg: 'could not disable a failing webhook or end its pending deliveries; a worker tries again' },
    ]);
  });
});

describe('a failed attempt', () => {
  it('is retried until the schedule ends, with the same id and a new timestamp', async () => {
    const to = await receiver((_, count) =>
      count % 2 === 0 ? { status: 302, headers: { location: '/x' } } : { status: 500 },
    );
    const { id } = await subscribe(to);
    on.harness.startRunner([0.1, 1.1]);
    const events = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('the delivery has failed', finished(events[0], id));
    const delivery = await find(events[0], id);
    expect(delivery).toMatchObject({
      status: 'failed',
      reason: 'Attempt 3 of 3 failed: status 500.',
    });
    expect(delivery.attempts.map(({ statusCode }) => statusCode)).toEqual([500, 302, 500]);
    expect(to.received.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook']);
    expect(new Set(to.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(to.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBeGreaterThan(1);
    const at = delivery.attempts.map((attempt) => Date.parse(attempt.at));
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(99);
    expect((at[2] ?? 0) - (at[1] ?? 0)).toBeGreaterThanOrEqual(1_099);
  });

  it('is retried no earlier than the Retry-After of the reply allows', async () => {
    const to = await receiver((_, count) =>
      count === 1 ? { status: 429, headers: { 'retry-after': '1' } } : { status: 204 },
    );
    const { id } = await subscribe(to);
    on.harness.startRunner([0.01]);
    const events = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('the delivery has succeeded', finished(events[0], id));
    const [first, second] = (await find(events[0], id)).attempts.map(({ at }) => Date.parse(at));
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(999);
  });

  it('with status 410 disables the webhook, ends its pending deliveries, and emits webhook.disabled to other webhooks', async () => {
    const gone = await receiver(() => ({ status: 410 }));
    const other = await receiver();
    const { id } = await subscribe(gone);
    const telling = await subscribe(other, { eventTypes: ['webhook.disabled'] });
    on.harness.startRunner([60], { maxConcurrency: 1 });
    const events = await on.harness.record(5);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('all deliveries have ended', async () =>
      (await Promise.all(events.map((event) => finished(event, id)()))).every(Boolean),
    );
    expect(gone.received).toHaveLength(1);
    expect(await on.harness.endpoints.find(ACCOUNT, id)).toMatchObject({
      enabled: false,
      disabledReason: 'The receiver answered 410 Gone, which disables the webhook.',
    });
    for (const event of events) {
      const { status, reason } = await find(event, id);
      expect(status).toBe('failed');
      expect(reason).toMatch(/410 Gone/);
    }
    const { events: logged } = await on.harness.log.read(ACCOUNT, undefined, 100);
    const disabled = logged.filter(({ type }) => type === 'webhook.disabled');
    expect(disabled).toHaveLength(1);
    expect(JSON.parse(disabled[0]?.data ?? '')).toMatchObject({ webhook: { id, enabled: false } });
    expect(disabled[0]?.data).not.toContain('sealed');
    await on.harness.dispatcher.dispatch(ACCOUNT, disabled);
    await eventually('the event is delivered', finished(disabled[0], telling.id));
  });

  it('with status 410 does not disable a webhook whose URL changed during the attempt: the new URL gets the event', async () => {
    const old = await receiver(() => ({ status: 410, afterMs: 1_500 }));
    const moved = await receiver();
    const { id } = await subscribe(old);
    on.harness.startRunner([60], { maxConcurrency: 1, timeoutMs: 10_000 });
    const [first, second] = await on.harness.record(2);
    await on.harness.dispatcher.dispatch(ACCOUNT, first === undefined ? [] : [first]);
    await eventually('the endpoint gets a request', () => old.received.length === 1);
    await on.harness.endpoints.change(ACCOUNT, id, { url: moved.url });
    await eventually('the event is delivered', finished(first, id));
    expect(await find(first, id)).toMatchObject({
      status: 'succeeded',
      attempts: [{ statusCode: 410 }, { statusCode: 204 }],
    });
    expect(await on.harness.endpoints.find(ACCOUNT, id)).toMatchObject({ enabled: true, url: moved.url });
    await on.harness.dispatcher.dispatch(ACCOUNT, second === undefined ? [] : [second]);
    await eventually('the new endpoint gets a request', finished(second, id));
    expect(moved.received).toHaveLength(2);
  });

  it('with status 410 does not disable a webhook that was disabled and enabled again during the attempt', async () => {
    const to = await receiver((_, count) =>
      count === 1 ? { status: 410, afterMs: 1_500 } : { status: 204 },
    );
    const { id } = await subscribe(to);
    on.harness.startRunner([60], { timeoutMs: 10_000 });
    const [event] = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, event === undefined ? [] : [event]);
    await eventually('the endpoint gets a request', () => to.received.length === 1);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: false });
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    await eventually('the delivery has ended', finished(event, id));
    expect(await find(event, id)).toMatchObject({ status: 'succeeded' });
    expect(await on.harness.endpoints.find(ACCOUNT, id)).toMatchObject({ enabled: true });
  });
});

describe('a delivery during a crash or shutdown', () => {
  it('is attempted by another process after the lease expires if the process that claimed the delivery crashes before the attempt', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const events = await on.harness.record(1);
    on.harness.jobs.lost = true;
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await on.harness.deliveries.claim(ACCOUNT, id, {
      defaultConcurrency: 20,
      maxDeliveries: 10,
      leaseMs: 300,
    });
    on.harness.jobs.lost = false;
    const runner = on.harness.startRunner();
    await eventually('the delivery has succeeded', async () => {
      await runner.reconcile(ACCOUNT);
      return await finished(events[0], id)();
    });
    expect(to.received).toHaveLength(1);
  });

  it('is attempted again with the same id if the process crashes before the attempt is recorded', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const events = await on.harness.record(1);
    // Posts the request and never returns, like a crashed process.
    const dying: DeliveryClient = {
      post: async (request, signal) => {
        await fetch(request.url, { method: 'POST', headers: { ...request.headers }, body: request.body });
        return await new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('aborted'));
          });
        });
      },
    };
    const dead = on.harness.startRunner([], { timeoutMs: 100, leaseMarginMs: 200 }, dying);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('the first request is posted', () => to.received.length === 1);
    on.harness.jobs.runners.splice(on.harness.jobs.runners.indexOf(dead), 1);
    const alive = on.harness.startRunner();
    await eventually('the delivery has succeeded', async () => {
      await alive.reconcile(ACCOUNT);
      return await finished(events[0], id)();
    });
    expect(to.received.map(({ headers }) => headers['webhook-id'])).toEqual([events[0]?.id, events[0]?.id]);
    await dead.drain(0);
    expect((await find(events[0], id)).attempts).toHaveLength(1);
  });

  it('is released instead of attempted if its process was suspended since the claim, because another process may have delivered it', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const [event] = await on.harness.record(1);
    const { deliveries } = on.harness;
    const now = Date.now.bind(Date);
    let suspendedMs = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + suspendedMs);
    const claim = deliveries.claim.bind(deliveries);
    const claims = jest.spyOn(deliveries, 'claim').mockImplementationOnce(async (...terms) => {
      const claimed = await claim(...terms);
      suspendedMs = 60_000;
      return claimed;
    });
    const releases = jest.spyOn(deliveries, 'release');
    try {
      on.harness.startRunner();
      await on.harness.dispatcher.dispatch(ACCOUNT, event === undefined ? [] : [event]);
      await eventually('the delivery has succeeded', finished(event, id));
    } finally {
      for (const spy of [clock, claims]) spy.mockRestore();
    }
    expect(releases).toHaveBeenCalledTimes(1);
    expect(to.received).toHaveLength(1);
    releases.mockRestore();
  });

  it('is finished within the shutdown deadline of its process, or else is due at once for other processes', async () => {
    const quick = await receiver(() => ({ status: 204, afterMs: 100 }));
    const hanging = await receiver(() => 'hang');
    const [first, second] = [await subscribe(quick), await subscribe(hanging)];
    const events = await on.harness.record(1);
    const runner = on.harness.startRunner();
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually(
      'both attempts are running',
      () => quick.received.length === 1 && hanging.received.length === 1,
    );
    on.harness.jobs.lost = true;
    await runner.drain(500);
    expect(await find(events[0], first.id)).toMatchObject({ status: 'succeeded' });
    expect(await find(events[0], second.id)).toMatchObject({ status: 'pending', attempts: [] });
    hanging.answer = () => ({ status: 204 });
    on.harness.jobs.lost = false;
    await on.harness.startRunner().work(ACCOUNT, second.id);
    await eventually('another process makes the attempt', finished(events[0], second.id));
    await runner.work(ACCOUNT, second.id);
  });

  it('is found by the periodic check if the process that created the delivery crashes before it wakes a worker', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const events = await on.harness.record(1);
    on.harness.jobs.lost = true;
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    on.harness.jobs.lost = false;
    await on.harness.startRunner().reconcile(ACCOUNT);
    await eventually('the delivery has succeeded', finished(events[0], id));
    expect(to.received).toHaveLength(1);
  });
});

describe('a webhook', () => {
  it('that hangs uses no more slots than its limit and does not hold up other webhooks', async () => {
    const hanging = await receiver(() => 'hang');
    const healthy = await receiver();
    const [bad, good] = [await subscribe(hanging), await subscribe(healthy)];
    on.harness.startRunner([60], { maxConcurrency: 3, timeoutMs: 10_000, attemptSlots: 8 });
    const events = await on.harness.record(60);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('the healthy endpoint has all events', async () => {
      const all = await Promise.all(events.map((event) => finished(event, good.id)()));
      return all.every(Boolean);
    });
    expect(hanging.received).toHaveLength(3);
    expect(hanging.maxConcurrent).toBe(3);
    expect(await find(events[59], bad.id)).toMatchObject({ status: 'pending' });
  });

  it('never has more requests in flight across all processes than its limit', async () => {
    const to = await receiver(() => ({ status: 204, afterMs: 5 }));
    const { id } = await subscribe(to);
    for (let i = 0; i < 3; i++) on.harness.startRunner([], { maxConcurrency: 4 });
    const events = await on.harness.record(100);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('all deliveries succeeded', async () =>
      (await Promise.all(events.map((event) => finished(event, id)()))).every(Boolean),
    );
    expect(to.maxConcurrent).toBeLessThanOrEqual(4);
    expect(to.maxConcurrent).toBeGreaterThan(1);
    expect(to.received).toHaveLength(100);
  });

  it('has its secret stored only in encrypted form', async () => {
    const { id, secret } = await subscribe(await receiver());
    const stored = await on.harness.redis.hget(`${on.harness.prefix}:{${ACCOUNT}}:webhooks`, id);
    expect(stored).toContain('sealed');
    expect(stored).not.toContain(secret.slice('whsec_'.length));
    expect(JSON.stringify(await on.harness.endpoints.list(ACCOUNT))).not.toMatch(/sealed|whsec/);
  });

  it('that is removed receives nothing more, and its Redis keys are deleted', async () => {
    const to = await receiver(() => 'hang');
    const { id } = await subscribe(to);
    const runner = on.harness.startRunner([0], { maxConcurrency: 2 });
    const events = await on.harness.record(1_200);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await eventually('two attempts are running', () => to.received.length === 2);
    expect(await on.harness.endpoints.remove(ACCOUNT, id)).toBe(true);
    expect(await on.harness.endpoints.remove(ACCOUNT, id)).toBe(false);
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await runner.work(ACCOUNT, id);
    await runner.drain(0);
    expect(to.received).toHaveLength(2);
    for (const event of [events[0], events[499]]) {
      expect(await find(event, id)).toMatchObject({ status: 'failed', reason: 'The webhook was removed.' });
    }
    expect(await on.harness.redis.keys(`${on.harness.prefix}:*endpoint*`)).toEqual([]);
    expect(await on.harness.redis.exists(`${on.harness.prefix}:{${ACCOUNT}}:webhooks:agenda`)).toBe(0);
  });

  it('whose removal is interrupted by a crash is cleaned up by the periodic check', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    on.harness.jobs.lost = true;
    const events = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await on.harness.endpointStore.remove(ACCOUNT, id);
    on.harness.jobs.lost = false;
    await on.harness.startRunner().reconcile(ACCOUNT);
    await eventually('the delivery has ended', finished(events[0], id));
    expect(to.received).toEqual([]);
    await eventually(
      'keys gone',
      async () => (await on.harness.redis.exists(`${on.harness.prefix}:{${ACCOUNT}}:webhooks:agenda`)) === 0,
    );
  });
});

describe('delivery retention', () => {
  it('removes finished deliveries by count and by age, oldest first, and never pending deliveries', async () => {
    const to = await receiver();
    const { id } = await subscribe(to);
    const runner = on.harness.startRunner();
    const events = await on.harness.record(5);
    for (const event of events) {
      await on.harness.dispatcher.dispatch(ACCOUNT, [event]);
      await eventually('the delivery has succeeded', finished(event, id));
    }
    on.harness.jobs.lost = true;
    const [waiting] = await on.harness.record(1);
    await on.harness.dispatcher.dispatch(ACCOUNT, waiting === undefined ? [] : [waiting]);
    const kept = async (): Promise<boolean[]> =>
      await Promise.all(
        events.map(
          async (event) =>
            (await on.harness.deliveries.find(ACCOUNT, deliveryId(event.id, id))) !== undefined,
        ),
      );
    expect(await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 5 })).toBe(0);
    expect(await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 2 })).toBe(3);
    expect(await kept()).toEqual([false, false, false, true, true]);
    expect(await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: -1_000, maxCount: 100 })).toBe(2);
    expect(await find(waiting, id)).toMatchObject({ status: 'pending' });
    await runner.drain(0);
  });
});
