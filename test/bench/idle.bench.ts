// What an installation costs while nothing changes: processor time in % of a core, and resident memory. First 10
// contacts with the default settings, then 10,000 contacts at one request a second. At the same time, a bare loop reads
// as many pages per second, and runs two scripts per page on its own Redis. TIDINGS_IDLE_SECONDS sets the length of a
// measurement.
import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_ACCOUNT_ID } from '#accounts';
import { accountKeys } from '#platform';
import { usageOf } from '../support/process-usage.js';
import { BenchmarkRedis, Installation, pidOf } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import type { BareIdleReport, BareIdleSettings } from './throughput/programs/bare-idle.js';
import type { UpstreamReport, UpstreamSettings } from './throughput/programs/bench-upstream.js';
import { BenchmarkTable } from './throughput/table.js';

const ROUNDS = Number(process.env['TIDINGS_BENCH_ROUNDS'] ?? '5');
const SECONDS = Number(process.env['TIDINGS_IDLE_SECONDS'] ?? '30');
const MESSAGES = 19;
/** Time after the start of a worker until its cost is constant, in milliseconds. */
const SETTLE_MS = 15_000;
const FIRST_READS_WITHIN_MS = 120_000;
const MEGABYTE = 1024 * 1024;
const keys = accountKeys('tidings', DEFAULT_ACCOUNT_ID);
const [DUE_KEY, DEEP_KEY] = [keys('polls', 'due'), keys('polls', 'deep')];

/** Cost of a round: processor time in % of a core, resident memory in MB, and requests per second. */
interface IdleCost {
  worker: number;
  gateway: number;
  redis: number;
  workerMb: number;
  gatewayMb: number;
  requests: number;
  bareLoop: number;
  bareRedis: number;
  bareRequests: number;
}

/** The bare loop and its Redis. */
interface Bare {
  loop: Program;
  redis: BenchmarkRedis;
}

/**
 * Measures an installation after all contacts were read.
 * @param requestsPerSecond rate of the bare loop
 * @param settings of the worker that is measured
 */
async function costsOf(
  contacts: number,
  requestsPerSecond: number,
  settings: Record<string, string>,
): Promise<IdleCost[]> {
  const settingsOfUpstream: UpstreamSettings = { contacts, messages: MESSAGES };
  await using upstream = Program.start('bench-upstream', settingsOfUpstream);
  const { port } = await upstream.ask<UpstreamReport>({});
  await using installation = await Installation.start({
    UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
    UPSTREAM_REQUESTS_PER_SECOND: '1000000',
    POLL_MIN_INTERVAL_MS: '600000',
    POLL_MAX_INTERVAL_MS: '600000',
  });
  await untilAllAreRead(installation, contacts);
  await installation.worker.stop();
  await installation.startWorker({
    UPSTREAM_REQUESTS_PER_SECOND: '10',
    POLL_MIN_INTERVAL_MS: '2000',
    POLL_MAX_INTERVAL_MS: '300000',
    ...settings,
  });
  await makeAllDue(installation);
  await using redis = await BenchmarkRedis.start();
  const bareSettings: BareIdleSettings = { port, redisUrl: redis.url, contacts, requestsPerSecond };
  await using loop = Program.start('bare-idle', bareSettings);
  await pause(SETTLE_MS);
  const rounds: IdleCost[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push(await measure(installation, upstream, { loop, redis }));
  return rounds;
}

async function measure(
  { worker, gateway, redis }: Installation,
  upstream: Program,
  bare: Bare,
): Promise<IdleCost> {
  const redisPids = await Promise.all([redis, bare.redis].map(pidOfRedis));
  const pids = [pidOf(worker), pidOf(gateway), ...redisPids, bare.loop.pid];
  const read = (): Promise<{ cpuMs: number; rss: number }[]> => Promise.all(pids.map(usageOf));
  const pagesOfBare = async (): Promise<number> => (await bare.loop.ask<BareIdleReport>({})).pages;
  const [pagesBefore, reportBefore] = [await pagesOfBare(), await upstream.ask<UpstreamReport>({})];
  const before = await read();
  await pause(SECONDS * 1_000);
  const after = await read();
  const [pages, report] = [await pagesOfBare(), await upstream.ask<UpstreamReport>({})];
  const barePages = pages - pagesBefore;
  const percent = (place: number): number =>
    ((after[place]?.cpuMs ?? 0) - (before[place]?.cpuMs ?? 0)) / SECONDS / 10;
  const megabytes = (place: number): number => (after[place]?.rss ?? 0) / MEGABYTE;
  return {
    ...{ worker: percent(0), gateway: percent(1), redis: percent(2) },
    ...{ workerMb: megabytes(0), gatewayMb: megabytes(1) },
    requests: (report.pages + report.lists - reportBefore.pages - reportBefore.lists - barePages) / SECONDS,
    ...{ bareRedis: percent(3), bareLoop: percent(4), bareRequests: barePages / SECONDS },
  };
}

async function pidOfRedis({ client }: BenchmarkRedis): Promise<number> {
  return Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
}

/** Waits until all pages of each contact were read once. */
async function untilAllAreRead({ redis: { client } }: Installation, contacts: number): Promise<void> {
  const end = performance.now() + FIRST_READS_WITHIN_MS;
  for (;;) {
    const read = await client.zcount(DUE_KEY, Date.now() + 300_000, '+inf');
    if (read === contacts && (await client.zcard(DEEP_KEY)) === 0) return;
    if (performance.now() > end) throw new Error(`only ${read} contacts were read in time`);
    await pause(100);
  }
}

/** Makes all contacts due now, and wakes the worker. */
async function makeAllDue({ redis: { client } }: Installation): Promise<void> {
  const contacts = await client.zrange(DUE_KEY, '0', '-1');
  const now = String(Date.now());
  for (let n = 0; n < contacts.length; n += 1_000)
    await client.zadd(DUE_KEY, 'XX', ...contacts.slice(n, n + 1_000).flatMap((id) => [now, id]));
  await client.zadd(`tidings:{.agenda-poll}:due`, 'LT', now, `due ${DEFAULT_ACCOUNT_ID}`);
}

const table = new BenchmarkTable('idle');
const column = (costs: IdleCost[], name: keyof IdleCost): number[] => costs.map((cost) => cost[name]);
const few = await costsOf(10, 5, {});
const requests = 'requests a second';
table.single(`10 contacts: ${requests}`, column(few, 'requests'), undefined, column(few, 'bareRequests'));
table.single('10 contacts: worker, % of a core', column(few, 'worker'), ['≤', 0.5], column(few, 'bareLoop'));
table.single('10 contacts: gateway, % of a core', column(few, 'gateway'), ['≤', 0.1]);
table.single('10 contacts: Redis, % of a core', column(few, 'redis'), ['≤', 0.3], column(few, 'bareRedis'));
table.single('10 contacts: worker, MB', column(few, 'workerMb'), ['≤', 200]);
table.single('10 contacts: gateway, MB', column(few, 'gatewayMb'), ['≤', 200]);
const many = await costsOf(10_000, 1, { UPSTREAM_REQUESTS_PER_SECOND: '1' });
const name = '10,000 contacts, 1 request/s';
table.single(`${name}: ${requests}`, column(many, 'requests'), undefined, column(many, 'bareRequests'));
table.single(`${name}: worker, % of a core`, column(many, 'worker'), ['≤', 1.5], column(many, 'bareLoop'));
table.single(`${name}: Redis, % of a core`, column(many, 'redis'), undefined, column(many, 'bareRedis'));
table.print();
