import { describe, expect, it } from '@jest/globals';
import { type DeliveriesOverview, RedisDeliveriesOverviewReader } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const on = new WithWebhookHarness();
const overview = (): Promise<DeliveriesOverview> =>
  new RedisDeliveriesOverviewReader(on.harness.redis, on.harness.prefix).overview(ACCOUNT);

describe('the figures about the deliveries of an account', () => {
  it('contain the number of deliveries by status and the number of webhooks, without removed webhooks and their deliveries', async () => {
    const fine = await on.receiver();
    const broken = await on.receiver(() => ({ status: 500 }));
    const { endpoint: good } = await on.harness.endpoints.create(ACCOUNT, { url: fine.url });
    const { endpoint: bad } = await on.harness.endpoints.create(ACCOUNT, { url: broken.url });
    await on.harness.endpoints.create(ACCOUNT, { url: fine.url, enabled: false });
    on.harness.startRunner();
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(3));
    await eventually('all deliveries have ended', async () => {
      const { counts } = await overview();
      return counts.succeeded === 3 && counts.failed === 3;
    });
    expect(await overview()).toEqual({
      counts: { pending: 0, succeeded: 3, failed: 3 },
      endpoints: { count: 3, disabled: 1, disabledByFailure: 0, due: 0 },
      failing: [{ endpointId: bad.id, since: expect.stringMatching(/Z$/) }],
      oldestDueMs: 0,
      oldestWaitingMs: 0,
    });
    await on.harness.endpoints.remove(ACCOUNT, bad.id);
    expect(await overview()).toMatchObject({
      counts: { succeeded: 3, failed: 0 },
      endpoints: { count: 2 },
      failing: [],
    });
    await on.harness.endpoints.remove(ACCOUNT, good.id);
    expect((await overview()).counts).toEqual({ pending: 0, succeeded: 0, failed: 0 });
  });

  it('contain the number of webhooks that Tidings disabled, until a caller enables or disables them', async () => {
    const gone = await on.receiver(() => ({ status: 410 }));
    const { endpoint } = await on.harness.endpoints.create(ACCOUNT, { url: gone.url });
    on.harness.startRunner();
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await eventually('Tidings has disabled the webhook', async () => {
      return (await overview()).endpoints.disabledByFailure === 1;
    });
    expect((await overview()).endpoints).toMatchObject({ count: 1, disabled: 1 });
    await on.harness.endpoints.change(ACCOUNT, endpoint.id, { enabled: false });
    expect((await overview()).endpoints).toMatchObject({ disabled: 1, disabledByFailure: 0 });
  });

  it('contain the number of webhooks with due deliveries, and how long the oldest delivery has been due', async () => {
    const receiver = await on.receiver();
    await on.harness.endpoints.create(ACCOUNT, { url: receiver.url });
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(2));
    const seen = await eventually('the delivery waits', async () => {
      const now = await overview();
      return now.oldestDueMs > 0 && now;
    });
    expect(seen).toMatchObject({ counts: { pending: 2 }, endpoints: { count: 1, due: 1 } });
  });

  it('do not count the time for which due deliveries wait because their webhook is paused', async () => {
    const receiver = await on.receiver();
    const { endpoint } = await on.harness.endpoints.create(ACCOUNT, { url: receiver.url });
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(2));
    const speed = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${endpoint.id}:speed`;
    await on.harness.redis.hset(speed, { heldUntil: String(Date.now() + 60_000) });
    await eventually('the deliveries are due', async () => (await overview()).endpoints.due === 1);
    expect((await overview()).oldestDueMs).toBe(0);
  });

  it('contain the age of the oldest event that is not yet dispatched', async () => {
    expect(await on.harness.log.dispatchLagMs(ACCOUNT)).toBe(0);
    await on.harness.record(2);
    await eventually('the delivery waits', async () => (await on.harness.log.dispatchLagMs(ACCOUNT)) > 0);
    const consumer = on.harness.reader();
    const reading = await consumer.read(1);
    if (reading.kind !== 'events') throw new Error('nothing to be read');
    await consumer.acknowledge(reading.events);
    await eventually(
      'the second delivery waits',
      async () => (await on.harness.log.dispatchLagMs(ACCOUNT)) > 0,
    );
    const rest = await consumer.read(10);
    if (rest.kind !== 'events') throw new Error('nothing to be read');
    await consumer.acknowledge(rest.events);
    expect(await on.harness.log.dispatchLagMs(ACCOUNT)).toBe(0);
  });
});
