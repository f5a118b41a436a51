// Start: the time from the start of a process until it is ready.
import { Installation } from './throughput/installation.js';
import { BenchmarkTable } from './throughput/table.js';

const ROUNDS = Number(process.env['TIDINGS_BENCH_ROUNDS'] ?? '5');
const MAX_START_MS = 1_500;

const table = new BenchmarkTable('start');
await using installation = await Installation.start();
const times = { gateway: [] as number[], worker: [] as number[] };

async function timed(start: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await start();
  return performance.now() - began;
}

// The processes of `Installation.start` were the warm-up. One at a time, as when one is replaced.
for (let round = 0; round < ROUNDS; round += 1) {
  await installation.gateway.stop();
  times.gateway.push(await timed(() => installation.startGateway()));
  await installation.worker.stop();
  times.worker.push(await timed(() => installation.startWorker()));
}
table.single('time until the gateway is ready, ms', times.gateway, ['≤', MAX_START_MS]);
table.single('time until the worker is ready, ms', times.worker, ['≤', MAX_START_MS]);
table.print();
