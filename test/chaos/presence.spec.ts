import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { metricsIn } from '../support/metrics.js';
import { Product } from '../support/product.js';

/** Time within which a worker that stopped must be missing, in milliseconds. */
const LIMIT_MS = 10_000;

let product: Product;

beforeEach(async () => {
  product = await Product.start();
});
afterEach(async () => {
  product.worker.child.kill('SIGCONT');
  await product[Symbol.asyncDispose]();
});

async function missingReasons(): Promise<string[]> {
  const ready = (await (await fetch(`http://127.0.0.1:${product.gateway.port}/health/ready`)).json()) as {
    details: { code: string }[];
  };
  return ready.details.map(({ code }) => code);
}

// SIGSTOP stands for a blocked event loop: the process is there and does nothing.
it.each(['SIGKILL', 'SIGSTOP'] as const)(
  'a worker that was stopped by %s is reported as missing in readiness, status and metrics within 10 s',
  async (signal) => {
    await eventually('the worker is there', async () => !(await missingReasons()).includes('no_worker'));
    const at = performance.now();
    product.worker.child.kill(signal);
    await eventually(
      'readiness says so',
      async () => (await missingReasons()).includes('no_worker'),
      LIMIT_MS,
    );
    await eventually(
      'the metrics say so',
      async () => {
        const text = await (await fetch(`http://127.0.0.1:${product.gateway.port}/metrics`)).text();
        return metricsIn(text).value('tidings_workers', { role: 'relay' }) === 0;
      },
      LIMIT_MS - (performance.now() - at),
    );
    const { readiness } = await product.json<{ readiness: { details: { code: string }[] } }>(
      'GET',
      '/v1/status',
    );
    expect(readiness.details.map(({ code }) => code)).toContain('no_worker');
    expect(performance.now() - at).toBeLessThan(LIMIT_MS);
  },
);
