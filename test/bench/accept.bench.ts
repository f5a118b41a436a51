// Accepted sends: `POST /v1/messages/send` with a key, validation, an idempotency key and a stored send, over 64
// connections. The limit is a bare Fastify route with a schema and one `add` of BullMQ. No worker runs, so that only the
// acceptance is measured.
import { AcceptLoad } from './throughput/accept-run.js';
import type { Cost } from './throughput/cost.js';
import { BenchmarkRedis, Installation } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import type { LoadResult } from './throughput/programs/http-load.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const table = new BenchmarkTable('accept');
await using bareRedis = await BenchmarkRedis.start();
await using bare = Program.start('bare-accept', { redisUrl: bareRedis.url });
const { port } = await bare.ask<{ port: number }>({});
await using installation = await Installation.start();
await installation.worker.stop();
await using load = new AcceptLoad();

const { limit, product } = await inRounds(
  () => load.run({ port, path: '/send', headers: {}, idempotent: false }),
  () => load.runOn(installation),
);
const column = (name: keyof Cost): number[] => product.map(({ cost }) => cost[name]);
table.compare('accepted sends per second', product.map(rateOf), limit.map(rateOf), ['≥', 0.35]);
table.compare('99th percentile, ms', product.map(p99Of), limit.map(p99Of), ['≤', 3]);
table.single('processor time of an accepted send, gateway and Redis, ms', column('cpuMs'));
table.single('processor time of Redis for an accepted send, ms', column('redisMs'));
table.single('scripts of an accepted send, ms of Redis', column('scriptMs'), ['≤', 0.08]);
table.single('scripts of an accepted send', column('scripts'));
table.single('round trips to Redis of an accepted send', column('roundTrips'), ['≤', 2]);
table.print();

function rateOf({ rate }: LoadResult): number {
  return rate;
}

function p99Of({ p99 }: LoadResult): number {
  return p99;
}
