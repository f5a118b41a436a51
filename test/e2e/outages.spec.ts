import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { startTestRedis } from '../support/redis-server.js';

/** The product of this test, and the product that the test before has left as it was at its start. */
let product: Product | undefined;
let healthy: Product | undefined;

afterEach(async () => {
  if (product !== healthy) await product?.[Symbol.asyncDispose]();
  product = undefined;
});
afterAll(() => healthy?.[Symbol.asyncDispose]());

/** Returns the healthy product of an earlier test, or a new one. */
async function healthyProduct(): Promise<Product> {
  product = healthy ?? (await Product.start(TIMEOUT));
  healthy = undefined;
  return product;
}

const TIMEOUT = { UPSTREAM_TIMEOUT_MS: '1000' };
const SEND = { phoneNumber: '+14155550123', message: 'Through the outage' };

/** Creates a contact and waits until Tidings knows it. */
async function contactNamed(running: Product): Promise<string> {
  const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', {
    phoneNumber: '+14155550199',
  });
  return contacts[0]?.id ?? '';
}

async function sendOnce(
  running: Product,
): Promise<{ status: number; ms: number; code?: string; retryAfter: string | null }> {
  const began = performance.now();
  const response = await running.call('POST', '/v1/messages/send', SEND);
  const { code } = (await response.json()) as { code?: string };
  return {
    status: response.status,
    ms: performance.now() - began,
    ...(code === undefined ? {} : { code }),
    retryAfter: response.headers.get('retry-after'),
  };
}

describe.each(['SIGKILL', 'SIGSTOP'] as const)('while Redis is unavailable (%s)', (signal) => {
  let running: Product;

  beforeAll(async () => {
    running = await Product.start();
  });
  afterAll(() => running[Symbol.asyncDispose]());

  it('a send request gets 503 unavailable within 2 s; afterwards the product works without a restart', async () => {
    running.redis.server.kill(signal);
    const refused = await sendOnce(running);
    expect(refused).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    expect(refused.ms).toBeLessThan(2_000);
    const ready = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
    expect(ready.status).toBe(503);

    if (signal === 'SIGSTOP') running.redis.server.kill('SIGCONT');
    else await running.redis.server.restart();
    const accepted = await eventually('sends are accepted again', async () => {
      const { status } = await sendOnce(running);
      return status === 200;
    });
    expect(accepted).toBe(true);
    await eventually('the worker relays again', async () => (await running.texts()).length > 0);
  });

  it('the gateway and worker shut down cleanly within 20 s of a signal', async () => {
    const { gateway, worker, redis } = running;
    redis.server.kill(signal);
    expect(await Promise.all([gateway.stop(), worker.stop()])).toEqual([0, 0]);
    if (signal === 'SIGSTOP') redis.server.kill('SIGCONT');
    // Its data is searched for secrets at the end.
    else await redis.server.restart();
  });
});

describe('the product under faults of upstream or of its own processes:', () => {
  it('while upstream is down, the gateway starts and reports the outage, and sends wait; after the outage, each send is posted once', async () => {
    const running = (product = await Product.startOn(
      await startTestRedis(),
      TIMEOUT,
      async ({ simulator }) => {
        await simulator.stop();
      },
    ));
    const ready = await eventually('readiness reports the upstream outage', async () => {
      const response = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
      const body = (await response.json()) as { status: string; reasons: string[] };
      return (
        body.reasons.some((reason) => reason.includes('messaging service')) && {
          code: response.status,
          ...body,
        }
      );
    });
    // The status stays 200, because sends can still be stored.
    expect(ready).toMatchObject({ code: 200, status: 'degraded' });

    const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', SEND);
    const status = await running.json<{ upstream: object }>('GET', '/v1/status');
    expect(status.upstream).toMatchObject({ state: 'down', reason: expect.stringContaining('ECONNREFUSED') });
    const contacts = await running.call('GET', '/v1/contacts');
    expect(contacts.status).toBe(503);
    expect(await contacts.json()).toMatchObject({ code: 'upstream_unavailable' });

    await running.startSimulator();
    const send = await eventually('the send is delivered', async () => {
      const seen = await running.json<{ status: string; attempts: object[] }>('GET', `/v1/sends/${id}`);
      return seen.status === 'delivered' && seen;
    });
    // During a known outage, no attempt was made.
    expect(send.attempts).toMatchObject([{ outcome: 'accepted' }]);
    expect(await running.texts()).toEqual([SEND.message]);
    const { events } = await running.json<{ events: { type: string; data: object }[] }>(
      'GET',
      '/v1/events?types=upstream.*',
    );
    expect(events.map(({ type }) => type)).toEqual(['upstream.unavailable', 'upstream.recovered']);
    expect(events[1]?.data).toEqual({ since: expect.any(String), reason: expect.any(String) });
    await eventually('readiness is ok again', async () => {
      const response = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
      return ((await response.json()) as { status: string }).status === 'ok';
    });
    healthy = running;
  });

  it('while upstream returns the contact list but fails every read of messages, each outage lasts longer than the one before, so that few events are emitted', async () => {
    product = await Product.start();
    const running = product;
    const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', { count: 40 });
    await eventually('all contacts were read', async () => {
      const { poller } = await running.json<{ poller: { contacts: number; deep: object } }>(
        'GET',
        '/v1/status',
      );
      return poller.contacts === contacts.length;
    });
    await running.simulate('faults', {
      ...{ match: { path: '/messages\\?' }, fault: { kind: 'status', status: 500 }, times: 'always' },
    });
    const emitted = async (): Promise<{ type: string; timestamp: string }[]> =>
      (
        await running.json<{ events: { type: string; timestamp: string }[] }>(
          'GET',
          '/v1/events?types=upstream.*',
        )
      ).events;
    const events = await eventually(
      'upstream was down three times',
      async () => {
        const found = await emitted();
        return found.length >= 6 && found.map(({ timestamp }) => Date.parse(timestamp));
      },
      60_000,
    );
    const lasted = [0, 2, 4].map((i) => (events[i + 1] ?? NaN) - (events[i] ?? NaN));
    expect(lasted[1]).toBeGreaterThanOrEqual(1_000);
    expect(lasted[2]).toBeGreaterThanOrEqual(2_000);
    // Readiness reports these failures after a minute, although the outages end most of the polls.
    const redis = new Redis(running.redis.url);
    const failures = await redis.hget('tidings:{default}:polls:facts', 'failures');
    redis.disconnect();
    expect(Number(failures)).toBeGreaterThan(10);
  });

  it('if a worker is killed during its reads, another worker takes over and emits message.received for a new inbound message within half a minute', async () => {
    const running = await healthyProduct();
    const first = running.worker;
    // Every read and every POST hangs, so the first worker dies in the middle of its work.
    await running.simulate('faults', { fault: 'timeoutBefore', times: 'always' });
    const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', SEND);
    await eventually('the send is relaying', async () => {
      const send = await running.json<{ status: string }>('GET', `/v1/sends/${id}`);
      return send.status === 'relaying';
    });
    await running.startWorker();
    await first.stop('SIGKILL');
    await running.simulate('faults/clear');
    const contactId = await contactNamed(running);
    await running.simulate('typing', { contactId, message: 'Is anybody there?' });
    await eventually(
      'the event of the reply is recorded',
      async () => {
        const { events } = await running.json<{ events: unknown[] }>(
          'GET',
          `/v1/events?types=message.received&contactId=${contactId}`,
        );
        return events.length === 1;
      },
      28_000,
    );
    healthy = running;
  });

  it('a worker that is killed in the middle of a POST causes no duplicate message', async () => {
    const running = await healthyProduct();
    const send = { phoneNumber: '+14155550124', message: 'Through the end of a worker' };
    const posted = async (): Promise<string[]> =>
      (await running.texts()).filter((text) => text === send.message);
    // Upstream accepts the send and never replies.
    await running.simulate('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
    const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', send);
    await eventually('upstream has accepted the send', async () => (await posted()).length === 1);
    await running.worker.stop('SIGKILL');
    await running.startWorker();
    await eventually(
      'the send was found among the messages',
      async () => {
        const send = await running.json<{ status: string }>('GET', `/v1/sends/${id}`);
        return send.status === 'delivered';
      },
      30_000,
    );
    expect(await posted()).toEqual([send.message]);
    healthy = running;
  });

  it('a process whose output is no longer read continues, and shuts down cleanly', async () => {
    const running = await healthyProduct();
    const { gateway, worker } = running;
    for (const { child } of [gateway, worker]) {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }
    // Each request and each attempt writes a log line.
    const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', {
      ...SEND,
      phoneNumber: '+14155550125',
    });
    await eventually('the send is delivered', async () => {
      const send = await running.json<{ status: string }>('GET', `/v1/sends/${id}`);
      return send.status === 'delivered';
    });
    expect(await Promise.all([gateway.stop(), worker.stop()])).toEqual([0, 0]);
  });
});
