// Relayed sends: a backlog of accepted sends to 1,000 recipients that a worker relays through an instant upstream. The
// limit is a bare BullMQ worker that posts the same forms by axios, as many at a time, each on a connection of its own.
import { queueRedisKeyPrefix } from '#platform';
import { Queue } from 'bullmq';
import { costOf, type Cost } from './throughput/cost.js';
import { BenchmarkRedis, Installation, pidOf } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import type { BareRelayRequest } from './throughput/programs/bare-relay.js';
import type { LoadRequest, LoadResult } from './throughput/programs/http-load.js';
import type { Arrivals, UpstreamRequest } from './throughput/programs/instant-upstream.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const RECIPIENTS = 1_000;
/** Time for which sends are accepted before they are relayed, in milliseconds. */
const FILL_MS = 2_500;
/** Number of sends of one account that a worker relays at the same time. */
const CONCURRENCY = 32;
const MESSAGE = 'Your parcel is here.';

const table = new BenchmarkTable('relay');
const recipients = Array.from({ length: RECIPIENTS }, (_, n) => `+1415${1_000_000 + n}`);
await using upstream = Program.start('instant-upstream', { recipients });
const { port: upstreamPort } = await upstream.ask<{ port: number }>({ port: true });
await using bareRedis = await BenchmarkRedis.start();
await using bare = Program.start('bare-relay', {
  redisUrl: bareRedis.url,
  upstreamPort,
  concurrency: CONCURRENCY,
});
await using installation = await Installation.start({
  // Polls and events have benchmarks of their own.
  WORKER_ROLES: 'relay',
  UPSTREAM_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
  UPSTREAM_REQUESTS_PER_SECOND: '1000000',
});
await using load = Program.start('http-load', {});
const jobs = new Queue('relay', {
  connection: installation.redis.client,
  prefix: queueRedisKeyPrefix('tidings', 'relay'),
});

/** Number of sends of a round. The bare worker gets as many as the gateway accepted. */
let backlog = 5_000;

async function arrivals(request: UpstreamRequest): Promise<Arrivals> {
  return upstream.ask<Arrivals>(request);
}

async function bareRound(): Promise<number> {
  const add = Array.from({ length: backlog }, (_, n) => ({
    phoneNumber: recipients[n % RECIPIENTS] ?? '',
    message: MESSAGE,
  }));
  await bare.ask({ add } satisfies BareRelayRequest);
  await arrivals({ start: true });
  await bare.ask({ run: true } satisfies BareRelayRequest);
  return (await arrivals({ wait: backlog })).rate;
}

async function productRound(): Promise<{ rate: number; cost: Cost }> {
  await arrivals({ start: true });
  await jobs.pause();
  // Otherwise this round would also pay for the checks for the messages of earlier rounds.
  await installation.redis.client.del('{tidings:default}:confirms');
  const accepted = await load.ask<LoadResult>({
    port: installation.gateway.port,
    path: '/v1/messages/send',
    headers: { 'x-api-key': installation.apiKey },
    idempotent: false,
    body: JSON.stringify({ phoneNumber: '+1415{n}', message: MESSAGE }),
    distinct: RECIPIENTS,
    connections: 64,
    durationMs: FILL_MS,
  } satisfies LoadRequest);
  if (Object.keys(accepted.failures).length > 0) throw new Error(JSON.stringify(accepted.failures));
  backlog = accepted.count;
  let rate = 0;
  const cost = await costOf(installation.redis.client, [pidOf(installation.worker)], async () => {
    await jobs.resume();
    const relayed = await arrivals({ wait: backlog });
    if (relayed.count !== backlog) throw new Error(`${relayed.count} of ${backlog} sends were relayed`);
    rate = relayed.rate;
    return backlog;
  });
  return { rate, cost };
}

const { limit, product } = await inRounds(bareRound, productRound);
const column = (name: keyof Cost): number[] => product.map(({ cost }) => cost[name]);
table.compare(
  'relayed sends per second',
  product.map(({ rate }) => rate),
  limit,
  ['≥', 0.5],
);
table.single('processor time of a relayed send, worker and Redis, ms', column('cpuMs'));
table.single('processor time of Redis for a relayed send, ms', column('redisMs'));
table.single('scripts of a relayed send, ms of Redis', column('scriptMs'));
table.single('scripts of a relayed send', column('scripts'));
table.single('round trips to Redis of a relayed send', column('roundTrips'));
table.print();
await jobs.close();
