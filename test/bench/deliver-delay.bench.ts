// The delay of deliveries at a quarter of the highest rate: from before an event is committed to its receipt at ten
// endpoints. The limit is a bare loop that signs and posts at the same rate.
import { setTimeout as pause } from 'node:timers/promises';
import { DeliverRun } from './throughput/deliver-run.js';
import { sampleBody } from './throughput/event-source.js';
import { Program } from './throughput/program.js';
import type { BareDeliverRequest } from './throughput/programs/bare-deliver.js';
import type { Received, ReceiverRequest } from './throughput/programs/receiver.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const ENDPOINTS = 10;
const CONNECTIONS = 100;
const SECONDS = 4;
/** Number of events that show the highest rate. */
const HIGHEST_EVENTS = 1_000;

const table = new BenchmarkTable('deliver-delay');
await using receiver = Program.start('receiver', {});
const { port } = await receiver.ask<Received>({} satisfies ReceiverRequest);
await using bare = Program.start('bare-deliver', {});
const body = sampleBody();
await using run = await DeliverRun.start(receiver, { endpoints: ENDPOINTS });
await run.deliver(HIGHEST_EVENTS);
const highest = (await run.deliver(HIGHEST_EVENTS)).rate;
const eventsPerSecond = highest / 4 / ENDPOINTS;
const events = Math.round(eventsPerSecond * SECONDS);

const { limit, product } = await inRounds(bareDelays, productDelays);
for (const [name, q, most] of [
  ['median', 0.5, 3],
  ['99th percentile', 0.99, 15],
] as const) {
  const [ours, theirs] = [product, limit].map((all) => all.map((delays) => quantile(delays, q)));
  table.compare(`${name} of the delay, ms`, ours ?? [], theirs ?? []);
  const above = (ours ?? []).map((ms, round) => ms - (theirs?.[round] ?? Number.NaN));
  table.single(`${name} above the bare loop's, ms`, above, ['≤', most]);
}
table.single('deliveries per second', [eventsPerSecond * ENDPOINTS]);
table.print();

async function bareDelays(): Promise<number[]> {
  const [count, rate] = [events * ENDPOINTS, eventsPerSecond * ENDPOINTS];
  const { delaysMs } = await run.receive(count, () =>
    bare.ask({ port, body, count, connections: CONNECTIONS, rate } satisfies BareDeliverRequest),
  );
  return delaysMs;
}

async function productDelays(): Promise<number[]> {
  const { delaysMs } = await run.receive(events * ENDPOINTS, async () => {
    const began = performance.now();
    for (let n = 0; n < events; n += 1) {
      const ms = began + (n / eventsPerSecond) * 1_000 - performance.now();
      if (ms > 0) await pause(ms);
      await run.source.append(1);
    }
  });
  await run.source.allRecorded();
  return delaysMs;
}

function quantile(values: readonly number[], q: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN;
}
