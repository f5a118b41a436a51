import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisDeliveriesWatch } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, Street } from './street.js';

let server: TestRedis;
let street: Street;
let watch: RedisDeliveriesWatch;
const receivers: Receiver[] = [];

async function receive(answer?: Receiver['answer']): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  receivers.push(receiver);
  return receiver;
}

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  street = await Street.open(server.url);
  watch = new RedisDeliveriesWatch(street.redis, street.prefix);
});
afterEach(async () => {
  await street.close();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

describe('the overview of deliveries', () => {
  it('counts those that are kept by status, and the endpoints, and forgets what is removed', async () => {
    const fine = await receive();
    const broken = await receive(() => ({ status: 500 }));
    const { endpoint: good } = await street.endpoints.create(ACCOUNT, { url: fine.url });
    const { endpoint: bad } = await street.endpoints.create(ACCOUNT, { url: broken.url });
    await street.endpoints.create(ACCOUNT, { url: fine.url, enabled: false });
    street.pump();
    await street.dispatcher.dispatch(ACCOUNT, await street.record(3));
    await eventually('all have ended', async () => {
      const { counts } = await watch.overview(ACCOUNT);
      return counts.succeeded === 3 && counts.failed === 3;
    });
    expect(await watch.overview(ACCOUNT)).toEqual({
      counts: { pending: 0, succeeded: 3, failed: 3 },
      endpoints: { count: 3, disabled: 1, due: 0 },
      oldestDueMs: 0,
    });
    await street.endpoints.remove(ACCOUNT, bad.id);
    expect(await watch.overview(ACCOUNT)).toMatchObject({
      counts: { succeeded: 3, failed: 0 },
      endpoints: { count: 2 },
    });
    await street.endpoints.remove(ACCOUNT, good.id);
    expect((await watch.overview(ACCOUNT)).counts).toEqual({ pending: 0, succeeded: 0, failed: 0 });
  });

  it('says at how many endpoints something is due, and for how long', async () => {
    const receiver = await receive();
    await street.endpoints.create(ACCOUNT, { url: receiver.url });
    await street.dispatcher.dispatch(ACCOUNT, await street.record(2));
    const seen = await eventually('it waits', async () => {
      const overview = await watch.overview(ACCOUNT);
      return overview.oldestDueMs > 0 && overview;
    });
    expect(seen).toMatchObject({ counts: { pending: 2 }, endpoints: { count: 1, due: 1 } });
  });

  it('says for how long the first event has waited for its dispatch', async () => {
    expect(await street.log.dispatchLagMs(ACCOUNT)).toBe(0);
    await street.record(2);
    await eventually('it waits', async () => (await street.log.dispatchLagMs(ACCOUNT)) > 0);
    const consumer = street.reader();
    const reading = await consumer.take(1);
    if (reading.kind !== 'events') throw new Error('nothing to be read');
    await consumer.acknowledge(reading.events);
    await eventually('the second waits', async () => (await street.log.dispatchLagMs(ACCOUNT)) > 0);
    const rest = await consumer.take(10);
    if (rest.kind !== 'events') throw new Error('nothing to be read');
    await consumer.acknowledge(rest.events);
    expect(await street.log.dispatchLagMs(ACCOUNT)).toBe(0);
  });
});
