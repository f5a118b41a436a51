import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { metricsIn, type Scrape } from '../support/metrics.js';
import { Product } from '../support/product.js';

const MESSAGES = 5_000;
const CONTACTS = 100;
/** Messages before the measurement, from which the clock difference and the polling rates are learned. */
const WARM_UP = 500;
const PER_STEP = 50;
const STEP_MS = 500;
/** Upper bounds of the compared buckets, in seconds. */
const BOUNDS = ['0.25', '0.5', '1', '2', '5', '10'];

interface Created {
  messageId: string;
  time: number;
}

let product: Product;

beforeAll(async () => {
  product = await Product.start({ UPSTREAM_REQUESTS_PER_SECOND: '60', POLL_MIN_INTERVAL_MS: '1000' });
  // The clock of upstream is two minutes ahead.
  await product.simulate('settings', { clockSkewMs: 120_000 });
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
});

const numberOf = (contact: number): string => `+1415555${String(1_000 + contact)}`;

async function write(from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += PER_STEP) {
    for (let i = at; i < at + PER_STEP; i += 1)
      await product.simulate('messages', { phoneNumber: numberOf((i * 7) % CONTACTS), text: `Message ${i}` });
    await pause(STEP_MS);
  }
}

/** Returns when each message was emitted, in milliseconds since 1970, by message id. */
async function emitted(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let cursor = ''; ;) {
    const page = await product.json<{
      events: { timestamp: string; data: { message: { id: string } } }[];
      next: string;
      hasMore: boolean;
    }>('GET', `/v1/events?types=message.received&limit=100${cursor === '' ? '' : `&after=${cursor}`}`);
    for (const { timestamp, data } of page.events) found.set(data.message.id, Date.parse(timestamp));
    if (!page.hasMore) return found;
    cursor = page.next;
  }
}

async function scrape(): Promise<Scrape> {
  return metricsIn(await (await fetch(`http://127.0.0.1:${product.worker.port}/metrics`)).text());
}

it(`the detection delay metric differs by at most 5 % from the true delays of ${MESSAGES} messages`, async () => {
  for (let contact = 0; contact < CONTACTS; contact += 1)
    await product.simulate('contacts', { phoneNumber: numberOf(contact) });
  await write(0, WARM_UP);
  await eventually('the first messages are emitted', async () => (await emitted()).size === WARM_UP);
  const before = await scrape();
  const warm = await emitted();

  await write(WARM_UP, WARM_UP + MESSAGES);
  const all = await eventually('all messages are emitted', async () => {
    const found = await emitted();
    return found.size === WARM_UP + MESSAGES && found;
  });
  const { entries } = await product.simulate<{ entries: Created[] }>('ledger', { kind: 'message.created' });
  const delays = entries
    .filter(({ messageId }) => !warm.has(messageId))
    .map(({ messageId, time }) => ((all.get(messageId) ?? Number.NaN) - time) / 1_000);
  expect(delays).toHaveLength(MESSAGES);

  const after = await scrape();
  const added = (part: string, labels = {}): number =>
    after.value(`tidings_detection_delay_seconds_${part}`, labels) -
    before.value(`tidings_detection_delay_seconds_${part}`, labels);
  const count = added('count');
  const mean = added('sum') / count;
  const exactMean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  const shares = BOUNDS.map((le) => ({
    le,
    measured: added('bucket', { le }) / count,
    exact: delays.filter((delay) => delay <= Number(le)).length / delays.length,
  }));
  process.stdout.write(`Detection delay: ${JSON.stringify({ count, mean, exactMean, shares })}\n`);
  expect(count).toBe(MESSAGES);
  expect(Math.abs(mean / exactMean - 1)).toBeLessThanOrEqual(0.05);
  for (const { measured, exact } of shares) expect(Math.abs(measured - exact)).toBeLessThanOrEqual(0.05);
}, 600_000);
