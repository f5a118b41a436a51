// Deliveries with a backlog and a number of endpoints ten times as large: 100,000 pending deliveries to 1,000 endpoints
// beside 10,000 to 100. The limit is the small case.
import type { Cost } from './throughput/cost.js';
import { DeliverRun, rateOf } from './throughput/deliver-run.js';
import { Program } from './throughput/program.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

/** Pending deliveries of each endpoint. */
const EVENTS = 100;

const table = new BenchmarkTable('deliver-growth');
await using receiver = Program.start('receiver', {});
await using few = await DeliverRun.start(receiver, { endpoints: 100 });
await using many = await DeliverRun.start(receiver, { endpoints: 1_000 });
const { limit, product } = await inRounds(
  () => few.deliver(EVENTS),
  () => many.deliver(EVENTS),
);
const column = (name: keyof Cost): number[] => product.map(({ cost }) => cost[name]);
table.compare('deliveries per second of 100,000 pending', product.map(rateOf), limit.map(rateOf), ['≥', 0.8]);
table.single('processor time of a delivery, worker and Redis, ms', column('cpuMs'));
table.single('scripts of a delivery, ms of Redis', column('scriptMs'));
table.single('round trips to Redis of a delivery', column('roundTrips'), ['≤', 0.5]);
table.print();
