import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { percentile } from '../support/percentile.js';
import { type Behaviour, WebhookTrial } from './webhook-trial.js';

const EVENTS = 20_000;
const KILLS = 10;
const SETTLED_WITHIN_MS = 1_500_000;
const MAX_DOUBLED = 0.01;

/** Number of events for measuring the maximum rate, and length of each measurement with a fixed rate. */
const CALIBRATION_EVENTS = 1_000;
const MEASUREMENT_MS = 10_000;
const MEASUREMENTS = 4;
const MAX_RATIO = 2;

const HEALTHY = Array.from({ length: 18 }, (): Behaviour => 'healthy');
const BAD: Behaviour[] = ['hangs', 'failsHalf'];

let trial: WebhookTrial | undefined;
afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

function print(title: string, counts: object): void {
  process.stdout.write(`${title}: ${JSON.stringify(counts, undefined, 1)}\n`);
}

describe('healthy webhooks while workers are killed and other webhooks hang or fail', () => {
  it(`get all of ${EVENTS} events with few duplicates, and in order if the webhook is ordered`, async () => {
    const running = await WebhookTrial.start(['ordered', ...HEALTHY.slice(1), ...BAD]);
    trial = running;
    const began = performance.now();
    await Promise.all([running.append(EVENTS), running.kill(KILLS)]);
    await running.settle(SETTLED_WITHIN_MS);
    const { healthy, subscribers } = running;
    const doubled = healthy.reduce((sum, one) => sum + one.doubled, 0);
    print('Webhooks under kills', {
      seconds: Math.round((performance.now() - began) / 1_000),
      deliveries: healthy.length * EVENTS,
      doubled,
      share: doubled / (healthy.length * EVENTS),
      atHalf: subscribers.find(({ behaviour }) => behaviour === 'failsHalf')?.taken.size,
      atHanging: subscribers.find(({ behaviour }) => behaviour === 'hangs')?.requests,
    });
    expect(healthy).toHaveLength(18);
    for (const { taken } of healthy) expect(taken.size).toBe(EVENTS);
    expect(subscribers.map(({ forged }) => forged)).toEqual(subscribers.map(() => 0));
    expect(doubled / (healthy.length * EVENTS)).toBeLessThan(MAX_DOUBLED);
    // A kill may repeat a delivery that was not yet recorded, but does not change the order.
    expect(
      healthy.filter(({ behaviour }) => behaviour === 'ordered').map(({ disordered }) => disordered),
    ).toEqual([0]);
  }, 1_800_000);
});

describe('healthy webhooks', () => {
  it('have at most twice their usual p99 latency while one other webhook hangs and another often fails (load: a quarter of the maximum event rate)', async () => {
    const running = await WebhookTrial.start([...HEALTHY, ...BAD]);
    trial = running;
    for (const behaviour of BAD) await running.enable(behaviour, false);

    // The first events are not measured, because the processes are cold.
    await running.append(CALIBRATION_EVENTS);
    await running.settle(SETTLED_WITHIN_MS);
    const began = performance.now();
    await running.append(CALIBRATION_EVENTS);
    await running.settle(SETTLED_WITHIN_MS);
    const eventsPerSecond = CALIBRATION_EVENTS / ((performance.now() - began) / 1_000);

    const everyMs = 1_000 / (eventsPerSecond / 4);
    const latencies = { without: [] as number[], with: [] as number[] };
    // The measurements alternate, so that other load on the machine affects both equally.
    for (let stretch = 0; stretch < MEASUREMENTS; stretch++) {
      const company = stretch % 2 === 0 ? 'without' : 'with';
      for (const behaviour of BAD) {
        await running.enable(behaviour, company === 'with');
      }
      latencies[company].push(...(await measureAtFixedRate(running, everyMs)));
    }
    const p99 = { without: percentile(latencies.without, 0.99), with: percentile(latencies.with, 0.99) };
    print('Healthy endpoints beside bad ones', {
      eventsPerSecond: Math.round(eventsPerSecond),
      deliveriesPerSecond: Math.round(eventsPerSecond * running.healthy.length),
      samples: [latencies.without.length, latencies.with.length],
      p50Ms: [percentile(latencies.without, 0.5), percentile(latencies.with, 0.5)].map(Math.round),
      p99Ms: [p99.without, p99.with].map(Math.round),
      ratio: p99.with / p99.without,
    });
    const bad = running.subscribers.filter(({ behaviour }) => BAD.includes(behaviour));
    for (const { requests } of bad) expect(requests).toBeGreaterThan(0);
    expect(p99.with).toBeLessThanOrEqual(MAX_RATIO * p99.without);
  }, 900_000);
});

/**
 * Appends one event at a time at a fixed rate, independent of the replies. Returns the latency of each
 * delivery to a healthy endpoint, in milliseconds.
 */
async function measureAtFixedRate(running: WebhookTrial, everyMs: number): Promise<number[]> {
  const latencies: number[] = [];
  const dueAt = new Map<number, number>();
  running.onEvent = (number, { behaviour }) => {
    const at = dueAt.get(number);
    if (at !== undefined && behaviour === 'healthy') latencies.push(performance.now() - at);
  };
  const began = performance.now();
  const count = Math.floor(MEASUREMENT_MS / everyMs);
  const appends: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    const at = began + n * everyMs;
    await pause(Math.max(at - performance.now(), 0));
    dueAt.set(running.next, at);
    appends.push(running.append(1));
  }
  await Promise.all(appends);
  await running.settle(SETTLED_WITHIN_MS);
  return latencies;
}
