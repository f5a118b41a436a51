// Polls of contacts without changes, as many as possible. The limit is a bare axios loop that gets and parses the same
// pages with the same number of requests at a time. The upstream of both answers at once.
import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_ACCOUNT_ID } from '#accounts';
import { accountKeys } from '#platform';
import { costOf, type Cost } from './throughput/cost.js';
import { Installation, pidOf } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import type { BarePollRequest, BarePollResult } from './throughput/programs/bare-poll.js';
import type { UpstreamReport, UpstreamSettings } from './throughput/programs/bench-upstream.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const CONTACTS = 2_000;
/** Number of messages of a contact, on its one page. */
const MESSAGES = 19;
/** Number of reads that one worker makes at a time for one account: half of its slots. */
const CONCURRENCY = 128;
const DURATION_MS = 4_000;
/** Time from the start of a worker until it has compiled its hot functions, in milliseconds. */
const WARM_UP_MS = 3_000;
const FIRST_READS_WITHIN_MS = 60_000;
const keys = accountKeys('tidings', DEFAULT_ACCOUNT_ID);
const [DUE_KEY, DEEP_KEY] = [keys('polls', 'due'), keys('polls', 'deep')];

const table = new BenchmarkTable('poll');
await using upstream = Program.start('bench-upstream', {
  contacts: CONTACTS,
  messages: MESSAGES,
} satisfies UpstreamSettings);
const { port } = await upstream.ask<UpstreamReport>({});
await using bare = Program.start('bare-poll', {});
await using installation = await Installation.start({
  UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
  // More than can be read, so that only the machine limits the polls.
  UPSTREAM_REQUESTS_PER_SECOND: '1000000',
  CONTACTS_INTERVAL_MS: '600000',
  POLL_MIN_INTERVAL_MS: '600000',
  POLL_MAX_INTERVAL_MS: '600000',
  WORKER_ROLES: 'poll',
});
await untilAllAreRead();
await installation.worker.stop();
await makeAllDue();

const { limit, product } = await inRounds(
  () =>
    bare.ask<BarePollResult>({
      port,
      contacts: CONTACTS,
      concurrency: CONCURRENCY,
      durationMs: DURATION_MS,
    } satisfies BarePollRequest),
  async () => {
    // A worker that runs during the rounds of the limit would slow it down.
    await installation.startWorker({ POLL_MIN_INTERVAL_MS: '10', POLL_MAX_INTERVAL_MS: '10' });
    await pause(WARM_UP_MS);
    let rate = 0;
    const cost = await costOf(installation.redis.client, [pidOf(installation.worker)], async () => {
      const before = await upstream.ask<UpstreamReport>({});
      const began = performance.now();
      await pause(DURATION_MS);
      const after = await upstream.ask<UpstreamReport>({});
      const count = after.pages - before.pages;
      rate = (count / (performance.now() - began)) * 1_000;
      return count;
    });
    await installation.worker.stop();
    return { rate, cost };
  },
);
const column = (name: keyof Cost): number[] => product.map(({ cost }) => cost[name]);
table.compare(
  'polls of unchanged contacts per second',
  product.map(({ rate }) => rate),
  limit.map(({ rate }) => rate),
  ['≥', 0.5],
);
table.single('processor time of a poll, worker and Redis, ms', column('cpuMs'));
table.single('processor time of Redis for a poll, ms', column('redisMs'));
table.single('scripts of a poll, ms of Redis', column('scriptMs'), ['≤', 0.1]);
table.single('scripts of a poll', column('scripts'));
table.single('round trips to Redis of a poll', column('roundTrips'), ['≤', 2]);
table.print();

/** Waits until all pages of each contact were read once. */
async function untilAllAreRead(): Promise<void> {
  const { client } = installation.redis;
  const end = performance.now() + FIRST_READS_WITHIN_MS;
  for (;;) {
    // A contact that was read is due again much later.
    const read = await client.zcount(DUE_KEY, Date.now() + 300_000, '+inf');
    if (read === CONTACTS && (await client.zcard(DEEP_KEY)) === 0) return;
    if (performance.now() > end) throw new Error(`only ${read} contacts were read in time`);
    await pause(100);
  }
}

/** Makes all contacts due now. */
async function makeAllDue(): Promise<void> {
  const { client } = installation.redis;
  const contacts = await client.zrange(DUE_KEY, '0', '-1');
  await client.zadd(DUE_KEY, 'XX', ...contacts.flatMap((id) => [String(Date.now()), id]));
}
