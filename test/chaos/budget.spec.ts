import { describe, expect, it } from '@jest/globals';
import { pause } from '#platform';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const WORKERS = 4;
const KILL_EVERY_MS = 5_000;
const CONTACTS = 60;

interface Arrival {
  arrivedAt: number;
}

/**
 * Returns the maximum over all time ranges of: requests in the range minus the allowed rate × t + max(rate,
 * 1).
 */
function worstExcess(arrivals: readonly number[], rate: number): number {
  let [max, min] = [-Infinity, Infinity];
  arrivals.forEach((at, i) => {
    // The range from arrival j to arrival i contains i - j + 1 requests, both ends included.
    min = Math.min(min, i - (rate * at) / 1_000);
    max = Math.max(max, i - (rate * at) / 1_000 - min + 1);
  });
  return max - Math.max(rate, 1);
}

async function arrivalsUnder(rate: number, forMs: number): Promise<number[]> {
  await using product = await Product.start({
    UPSTREAM_REQUESTS_PER_SECOND: String(rate),
    CONTACTS_INTERVAL_MS: '2000',
    // More contacts are due than the budget can serve.
    POLL_MIN_INTERVAL_MS: '50',
    POLL_MAX_INTERVAL_MS: '200',
  });
  const environment = { ...product.environment(), WORKER_PORT: '0' };
  const workers: ProductProcess[] = [];
  try {
    for (let i = 0; i < WORKERS; i += 1) workers.push(await startProcess('worker', environment));
    await product.worker.stop();
    for (let i = 0; i < CONTACTS; i += 1)
      await product.simulate('contacts', { phoneNumber: `+1555300${String(i).padStart(4, '0')}` });
    for (const end = performance.now() + forMs; performance.now() < end;) {
      await pause(Math.min(KILL_EVERY_MS, end - performance.now()));
      await workers.shift()?.stop('SIGKILL');
      workers.push(await startProcess('worker', environment));
    }
    const { entries } = await product.simulate<{ entries: Arrival[] }>('ledger', {
      kind: 'request',
      limit: 1_000_000,
    });
    return entries.map(({ arrivedAt }) => arrivedAt).sort((a, b) => a - b);
  } finally {
    await Promise.allSettled(workers.map((worker) => worker.stop()));
  }
}

describe('the request budget of an account', () => {
  it.each([
    [0.2, 60_000],
    [1, 40_000],
    [20, 30_000],
    [400, 30_000],
  ])(
    'is never exceeded while one of four workers is killed and replaced every 5 s (budget: %d requests per second)',
    async (rate, forMs) => {
      const arrivals = await arrivalsUnder(rate, forMs);
      const excess = worstExcess(arrivals, rate);
      const share = arrivals.length / (rate * (forMs / 1_000));
      process.stdout.write(
        `budget ${rate}/s: ${arrivals.length} requests, ${share.toFixed(2)} of the budget, worst excess ${excess.toFixed(2)}\n`,
      );
      expect(excess).toBeLessThanOrEqual(0);
      // The workers must have been busy enough to need the limit. At 400 requests per second the machine is the
      // limit.
      if (rate <= 20) expect(share).toBeGreaterThan(0.6);
    },
  );
});
