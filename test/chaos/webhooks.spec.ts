import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { percentile } from './percentile.js';
import { type Manners, WebhookTrial } from './webhook-trial.js';

const EVENTS = 20_000;
const KILLS = 10;
const SETTLED_WITHIN_MS = 1_500_000;
const MOST_DOUBLED = 0.01;

/** Of the isolation: how many events the highest rate is measured with, and how long each stretch of the open loop is. */
const CALIBRATION_EVENTS = 1_000;
const STRETCH_MS = 10_000;
const STRETCHES = 4;
const MOST_SLOWER = 2;

const HEALTHY = Array.from({ length: 18 }, (): Manners => 'healthy');
const BAD: Manners[] = ['hangs', 'failsHalf'];

let trial: WebhookTrial | undefined;
afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

function print(title: string, counts: object): void {
  process.stdout.write(`${title}: ${JSON.stringify(counts, undefined, 1)}\n`);
}

describe('webhooks under kills', () => {
  it(`of ${EVENTS} events to 20 endpoints, one of which hangs and one fails half the time, none is lost at a healthy one, few come twice, and all in order where that was asked for`, async () => {
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
      atHalf: subscribers.find(({ manners }) => manners === 'failsHalf')?.taken.size,
      atHanging: subscribers.find(({ manners }) => manners === 'hangs')?.requests,
    });
    expect(healthy).toHaveLength(18);
    for (const { taken } of healthy) expect(taken.size).toBe(EVENTS);
    expect(subscribers.map(({ forged }) => forged)).toEqual(subscribers.map(() => 0));
    expect(doubled / (healthy.length * EVENTS)).toBeLessThan(MOST_DOUBLED);
    // A kill may repeat what was not recorded yet, but nothing overtakes it.
    expect(
      healthy.filter(({ manners }) => manners === 'ordered').map(({ disordered }) => disordered),
    ).toEqual([0]);
  }, 1_800_000);
});

describe('healthy endpoints', () => {
  it('at a quarter of the highest rate are served as promptly beside one that hangs and one that fails', async () => {
    const running = await WebhookTrial.start([...HEALTHY, ...BAD]);
    trial = running;
    for (const manners of BAD) await running.enable(manners, false);

    // The first events find cold processes: they are not measured.
    await running.append(CALIBRATION_EVENTS);
    await running.settle(SETTLED_WITHIN_MS);
    const began = performance.now();
    await running.append(CALIBRATION_EVENTS);
    await running.settle(SETTLED_WITHIN_MS);
    const eventsPerSecond = CALIBRATION_EVENTS / ((performance.now() - began) / 1_000);

    const everyMs = 1_000 / (eventsPerSecond / 4);
    const latencies = { without: [] as number[], with: [] as number[] };
    // In turns, so that whatever else the machine does meanwhile befalls both alike.
    for (let stretch = 0; stretch < STRETCHES; stretch++) {
      const company = stretch % 2 === 0 ? 'without' : 'with';
      for (const manners of BAD) {
        await running.enable(manners, company === 'with');
      }
      latencies[company].push(...(await openLoop(running, everyMs)));
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
    const bad = running.subscribers.filter(({ manners }) => BAD.includes(manners));
    for (const { requests } of bad) expect(requests).toBeGreaterThan(0);
    expect(p99.with).toBeLessThanOrEqual(MOST_SLOWER * p99.without);
  }, 900_000);
});

/** One event at each time of a fixed rhythm, however the answers come; how long each took to each healthy endpoint. */
async function openLoop(running: WebhookTrial, everyMs: number): Promise<number[]> {
  const latencies: number[] = [];
  const dueAt = new Map<number, number>();
  running.onEvent = (number, { manners }) => {
    const at = dueAt.get(number);
    if (at !== undefined && manners === 'healthy') latencies.push(performance.now() - at);
  };
  const began = performance.now();
  const count = Math.floor(STRETCH_MS / everyMs);
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
