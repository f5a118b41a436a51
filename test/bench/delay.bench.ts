// Delay of sends: from the reply that accepts a send until upstream has it, at a quarter of the highest rate at which
// sends are accepted and relayed at the same time. The limit is a bare Fastify route with one `add` of BullMQ, and a bare
// BullMQ worker that posts by axios, at the same rate.
import { BenchmarkRedis, Installation } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import type { BareRelayRequest } from './throughput/programs/bare-relay.js';
import type { LoadRequest, LoadResult } from './throughput/programs/http-load.js';
import type { Arrivals, UpstreamRequest } from './throughput/programs/instant-upstream.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const DURATION_MS = 3_000;
const MESSAGE = 'Your parcel is here.';

/** Percentiles of the delays of one round, in milliseconds. */
interface Delays {
  p50: number;
  p99: number;
}

const table = new BenchmarkTable('delay');
await using upstream = Program.start('instant-upstream', { recipients: ['+14150000000'] });
const { port: upstreamPort } = await upstream.ask<{ port: number }>({ port: true });
await using bareRedis = await BenchmarkRedis.start();
await using bareGateway = Program.start('bare-accept', { redisUrl: bareRedis.url });
const { port: barePort } = await bareGateway.ask<{ port: number }>({});
await using bareWorker = Program.start('bare-relay', {
  redisUrl: bareRedis.url,
  upstreamPort,
  concurrency: 32,
});
await bareWorker.ask({ run: true } satisfies BareRelayRequest);
await using installation = await Installation.start({
  // Polls and events have benchmarks of their own.
  WORKER_ROLES: 'relay',
  UPSTREAM_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
  UPSTREAM_REQUESTS_PER_SECOND: '1000000',
});
await using load = Program.start('http-load', {});

type Target = Pick<LoadRequest, 'port' | 'path' | 'headers' | 'idempotent'>;
const bare: Target = { port: barePort, path: '/send', headers: {}, idempotent: false };
const product: Target = {
  port: installation.gateway.port,
  path: '/v1/messages/send',
  headers: { 'x-api-key': installation.apiKey },
  idempotent: true,
};

async function send(target: Target, rate?: number): Promise<{ accepted: LoadResult; relayed: Arrivals }> {
  await upstream.ask({ start: true } satisfies UpstreamRequest);
  const accepted = await load.ask<LoadResult>({
    ...target,
    body: JSON.stringify({ phoneNumber: '+1415{n}', message: `${MESSAGE} #{n}#` }),
    connections: 64,
    durationMs: DURATION_MS,
    timed: true,
    ...(rate === undefined ? {} : { rate }),
  } satisfies LoadRequest);
  if (Object.keys(accepted.failures).length > 0) throw new Error(JSON.stringify(accepted.failures));
  const relayed = await upstream.ask<Arrivals>({ wait: accepted.count } satisfies UpstreamRequest);
  // Otherwise the next round would also pay for the checks for the messages of this one.
  await installation.redis.client.del('{tidings:default}:confirms');
  return { accepted, relayed };
}

async function delays(target: Target, rate: number): Promise<Delays> {
  const { accepted, relayed } = await send(target, rate);
  const arrivedAt = new Map(relayed.arrivedAt);
  const all = (accepted.repliedAt ?? []).map(([number, at]) => {
    const arrived = arrivedAt.get(number);
    if (arrived === undefined) throw new Error(`send ${number} did not arrive`);
    return arrived - at;
  });
  all.sort((a, b) => a - b);
  const quantile = (q: number): number => all[Math.floor(all.length * q)] ?? Number.NaN;
  return { p50: quantile(0.5), p99: quantile(0.99) };
}

// The first run is a warm-up.
await send(product);
const rate = (await send(product)).relayed.rate / 4;
const measured = await inRounds(
  () => delays(bare, rate),
  () => delays(product, rate),
);
const above = (name: keyof Delays): number[] =>
  measured.product.map((delay, round) => delay[name] - (measured.limit[round]?.[name] ?? Number.NaN));
const of = (delay: readonly Delays[], name: keyof Delays): number[] => delay.map((one) => one[name]);
table.single('sends per second', [rate]);
for (const [name, words] of [
  ['p50', 'median'],
  ['p99', '99th percentile'],
] as const)
  table.compare(
    `accepted → upstream has it, ${words}, ms`,
    of(measured.product, name),
    of(measured.limit, name),
  );
table.single('the same median above that of the bare loop, ms', above('p50'), ['≤', 3]);
table.single('the same 99th percentile above that of the bare loop, ms', above('p99'), ['≤', 15]);
table.print();
