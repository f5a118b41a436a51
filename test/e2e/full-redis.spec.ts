import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { withConnection, usedMemory } from '../support/used-memory.js';

const KEPT = 1_000;
const EVENTS = 10_000;
const CHUNK = 500;
const NOTE = 'x'.repeat(1_000);
const READY_WITHIN_MS = 60_000;

let product: Product;

beforeAll(async () => {
  product = await Product.start({ EVENT_RETENTION_MAX: String(KEPT), LOG_LEVEL: 'warn' });
}, 60_000);
afterAll(async () => {
  await product[Symbol.asyncDispose]();
});

/** Records more events than retention keeps, and waits until all are dispatched and may be removed. */
async function recordEvents(): Promise<void> {
  await withConnection(product.redis.url, async (redis) => {
    const log = new RedisEventLog(redis, 'tidings');
    for (let from = 0; from < EVENTS; from += CHUNK) {
      const events = Array.from({ length: CHUNK }, (_, i) => ({
        type: 'message.received' as const,
        contactId: 'c1',
        subject: `message:${from + i}`,
        revision: 1,
        data: { contactId: 'c1', message: { id: `m${from + i}`, message: NOTE } },
      }));
      await log.append('default', events);
    }
  });
  await eventually('all events are dispatched', async () => {
    const { deliveries } = await product.json<{ deliveries: { dispatchLagMs: number } }>('GET', '/v1/status');
    return deliveries.dispatchLagMs === 0;
  });
}

const send = async (message: string): Promise<number> =>
  (await product.call('POST', '/v1/messages/send', { phoneNumber: '+14155550123', message })).status;

it('if Redis is full and contains old records, retention removes them, and sends can be stored again within a minute', async () => {
  const ask = <T>(...command: [string, ...string[]]): Promise<T> =>
    withConnection(product.redis.url, async (redis) => (await redis.call(...command)) as T);
  const countEvents = async (): Promise<number> => Number(await ask('XLEN', 'tidings:{default}:events'));
  // Retention may run at any time. What it has removed cannot make room later.
  do await recordEvents();
  while ((await countEvents()) < EVENTS);
  const full = Math.round((await usedMemory(product.redis.url)) * 0.8);
  await ask('CONFIG', 'SET', 'maxmemory', String(full));
  expect(await send('Refused')).toBe(503);
  await eventually('sends are accepted', async () => (await send('Taken')) === 200, READY_WITHIN_MS);
  await eventually(
    'the send was sent',
    async () => (await product.texts()).includes('Taken'),
    READY_WITHIN_MS,
  );
  expect(await product.texts()).not.toContain('Refused');
  expect(await countEvents()).toBeLessThan(EVENTS);
}, 180_000);
