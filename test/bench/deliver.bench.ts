// Deliveries: events in the log → signed, delivered and recorded, at ten endpoints and at one. The limit is a bare loop
// that signs and posts as many bodies over 100 connections to the same receiver.
import type { Cost } from './throughput/cost.js';
import { DeliverRun, rateOf } from './throughput/deliver-run.js';
import { sampleBody } from './throughput/event-source.js';
import { Program } from './throughput/program.js';
import type { BareDeliverRequest } from './throughput/programs/bare-deliver.js';
import type { Received, ReceiverRequest } from './throughput/programs/receiver.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const CONNECTIONS = 100;
const DELIVERIES = 15_000;

const table = new BenchmarkTable('deliver');
await using receiver = Program.start('receiver', {});
const { port } = await receiver.ask<Received>({} satisfies ReceiverRequest);
await using bare = Program.start('bare-deliver', {});
const body = sampleBody();

for (const endpoints of [10, 1]) await measure(endpoints);
table.print();

async function measure(endpoints: number): Promise<void> {
  // Ten webhooks have the default limit of requests in flight. One needs as many as the bare loop.
  const settings = endpoints === 1 ? { maxConcurrency: CONNECTIONS } : {};
  await using run = await DeliverRun.start(receiver, { endpoints, settings });
  const { limit, product } = await inRounds(bareRate, () => run.deliver(DELIVERIES / endpoints));
  const column = (name: keyof Cost): number[] => product.map(({ cost }) => cost[name]);
  const where = endpoints === 1 ? 'one endpoint' : `${endpoints} endpoints`;
  table.compare(`deliveries per second to ${where}`, product.map(rateOf), limit, ['≥', 0.2]);
  table.single(`${where}: processor time of a delivery, worker and Redis, ms`, column('cpuMs'), ['≤', 0.2]);
  table.single(`${where}: processor time of Redis for a delivery, ms`, column('redisMs'));
  table.single(`${where}: scripts of a delivery, ms of Redis`, column('scriptMs'), ['≤', 0.05]);
  table.single(`${where}: scripts of a delivery`, column('scripts'));
  table.single(`${where}: round trips to Redis of a delivery`, column('roundTrips'), ['≤', 0.5]);
}

async function bareRate(): Promise<number> {
  const received = receiver.ask<Received>({ count: DELIVERIES } satisfies ReceiverRequest);
  await bare.ask({ port, body, count: DELIVERIES, connections: CONNECTIONS } satisfies BareDeliverRequest);
  return DELIVERIES / ((await received).durationMs / 1_000);
}
