import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import type { DeliveryList, EventList, SendList } from '#client';
import { eventually } from '../support/eventually.js';
import { type Command, ROOT, startCommand } from '../support/process.js';
import type { Product } from '../support/product.js';
import type { WebhookReceiver } from '../support/webhook-receiver.js';

const CONTACTS = 60;
const SENDS = 40;

/** Fills every page of the console: conversations, sends, deliveries that succeed and that fail, and 1,000 events. */
export async function seed(product: Product, receiver: WebhookReceiver): Promise<void> {
  const numbers = Array.from({ length: CONTACTS }, (_, n) => `+1415556${String(n).padStart(4, '0')}`);
  const { secret } = await product.json<{ secret: string }>('POST', '/v1/webhooks', {
    url: receiver.url,
    description: 'Order service',
    eventTypes: ['contact.*'],
  });
  receiver.secret = secret;
  await product.json('POST', '/v1/webhooks', {
    url: 'http://127.0.0.1:9/billing',
    description: 'Billing',
    eventTypes: ['contact.*'],
  });
  for (const [n, phoneNumber] of numbers.entries()) {
    await product.simulate('contacts', { name: `Contact ${n}`, phoneNumber });
    await product.simulate('messages', {
      phoneNumber,
      text: 'Question {n}: is my order on its way?',
      count: 5,
    });
  }
  for (let n = 0; n < SENDS; n += 1)
    await product.json('POST', '/v1/messages/send', {
      phoneNumber: numbers[n],
      message: `Your parcel ${n} is on its way. It arrives on Friday.`,
      reference: `order-${n}`,
    });
  await eventually('all sends are delivered', async () => {
    const { sends } = await product.json<SendList>('GET', '/v1/sends?status=delivered&limit=100');
    return sends.length === SENDS;
  });
  await eventually('every contact has its event and the webhook has received it', async () => {
    const { events } = await product.json<EventList>('GET', '/v1/events?types=contact.created&limit=1000');
    const { deliveries } = await product.json<DeliveryList>(
      'GET',
      '/v1/deliveries?status=succeeded&limit=100',
    );
    return events.length === CONTACTS && deliveries.length === CONTACTS;
  });
  await feed(product, { perSecond: 200, seconds: 5 }).ended;
}

/** Appends events to the log of the account at a steady rate, from a process of its own. */
export function feed(product: Product, rate: { perSecond: number; seconds: number }): Command {
  const script = join(ROOT, 'test/timing/event-feeder.mjs');
  const { perSecond, seconds } = rate;
  return startCommand(
    process.execPath,
    [script, product.redis.url, String(perSecond), String(seconds)],
    {},
    (seconds + 60) * 1_000,
  );
}

/** Waits for the end of a feeder. @returns maximum delay of an append against the rate, in milliseconds */
export async function untilFed({ ended }: Command): Promise<number> {
  const { code, stdout, stderr } = await ended;
  if (code !== 0) throw new Error(`the feeder ended with ${code ?? 'a signal'}: ${stderr}`);
  return (JSON.parse(stdout) as { behindMs: number }).behindMs;
}

/** What a page showed of the events of a feeder. */
export interface Shown {
  /** Number of rows that were added, by the second in which their event was due. */
  bySecond: number[];
  /** Number of different events in them. */
  different: number;
  /** True if every row was above the one before. */
  isInOrder: boolean;
  /** Times from when each event was due until the frame that shows its row, in milliseconds. */
  delaysMs: number[];
  /** Times for which the page did not react, if above 50 ms, in milliseconds. */
  longTasksMs: number[];
}

/** Records the rows that the page adds to its live events, and its long tasks. @param perSecond rate of the feeder */
export async function watchRows(page: Page, perSecond: number): Promise<void> {
  await page.evaluate(`(() => {
    const seen = new Set();
    const shown = { bySecond: [], different: 0, isInOrder: true, delaysMs: [], longTasksMs: [] };
    let highest = -1;
    globalThis.shown = shown;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) shown.longTasksMs.push(Math.round(duration));
    }).observe({ type: 'longtask' });
    new MutationObserver((changes) => {
      const dueAt = [];
      const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
      for (const row of added) {
        const match = /Event (\\d+) at (\\d+)/.exec(row.textContent);
        if (match === null) continue;
        const n = Number(match[1]);
        const second = Math.floor(n / ${perSecond});
        shown.bySecond[second] = (shown.bySecond[second] ?? 0) + 1;
        seen.add(n);
        dueAt.push(Number(match[2]));
      }
      shown.different = seen.size;
      // The newest row is the first.
      const first = /Event (\\d+) at/.exec(document.querySelector('.tail > li').textContent);
      if (first !== null) {
        if (Number(first[1]) < highest) shown.isInOrder = false;
        highest = Number(first[1]);
      }
      requestAnimationFrame(() => {
        for (const due of dueAt) shown.delaysMs.push(Date.now() - due);
      });
    }).observe(document.querySelector('.tail'), { childList: true });
  })()`);
}

/** What a page holds after a garbage collection. */
export interface Memory {
  heapBytes: number;
  nodes: number;
  listeners: number;
}

/** @param session session with the page for which `Performance.enable` was called */
export async function memoryOf(session: CDPSession): Promise<Memory> {
  // A second collection frees what finalizers released in the first one.
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { metrics } = await session.send('Performance.getMetrics');
  const valueOf = (wanted: string): number =>
    metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { heapBytes: usedSize, nodes: valueOf('Nodes'), listeners: valueOf('JSEventListeners') };
}

/** Notes the largest contentful paint of every page that is loaded from now on. */
export async function watchPaint(page: Page): Promise<void> {
  await page.addInitScript(`
    globalThis.largestPaintMs = undefined;
    new PerformanceObserver((list) => {
      globalThis.largestPaintMs = list.getEntries().at(-1).startTime;
    }).observe({ type: 'largest-contentful-paint', buffered: true });`);
}

/** Returns the time from the start of the load to the largest contentful paint, in milliseconds. */
export async function largestPaintMs(page: Page): Promise<number> {
  // Whatever was rendered is painted after two frames.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  return await eventually(
    'the page is painted',
    async () => await page.evaluate<number | undefined>('globalThis.largestPaintMs'),
  );
}
