// Deliveries of two workers beside those of one, to 100 endpoints that take 50 ms. Until the processors are the limit,
// two workers deliver nearly twice as much.
import { availableParallelism } from 'node:os';
import { usageOf } from '../support/process-usage.js';
import { DeliverRun, rateOf } from './throughput/deliver-run.js';
import { pidOf } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const ENDPOINTS = 100;
const EVENTS = 200;
const DELAY_MS = 50;

const table = new BenchmarkTable('deliver-workers');
await using receiver = Program.start('receiver', { delayMs: DELAY_MS });
await using alone = await DeliverRun.start(receiver, { endpoints: ENDPOINTS });
await using shared = await DeliverRun.start(receiver, { endpoints: ENDPOINTS });
const first = shared.installation.worker;
await shared.installation.startWorker();
const pids = [first, shared.installation.worker].map(pidOf);

const { limit, product } = await inRounds(
  () => alone.deliver(EVENTS),
  async () => {
    const began = { at: performance.now(), ms: await usedMs() };
    const { rate } = await shared.deliver(EVENTS);
    const capacity = (performance.now() - began.at) * availableParallelism();
    return { rate, busy: ((await usedMs()) - began.ms) / capacity };
  },
);
table.compare(
  'deliveries per second of two workers',
  product.map(({ rate }) => rate),
  limit.map(rateOf),
  ['≥', 1.8],
);
const busy = product.map((one) => one.busy);
table.single('share of the processors that two workers, Redis and the receiver used', busy);
table.print();
await first.stop('SIGKILL');

/** Returns the processor time of all programs that take part. */
async function usedMs(): Promise<number> {
  const info = await shared.installation.redis.client.info('server');
  const redis = Number(/process_id:(\d+)/.exec(info)?.[1]);
  const usages = await Promise.all([...pids, redis, receiver.pid].map(usageOf));
  return usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}
