// Accepted sends of an installation with 100,000 stored sends, 1,000 accounts and 1,000 webhooks, beside one that is new.
import { AcceptLoad } from './throughput/accept-run.js';
import { Installation } from './throughput/installation.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const SENDS = Number(process.env['TIDINGS_BENCH_SENDS'] ?? '100000');
const ACCOUNTS = 1_000;
const WEBHOOKS = 1_000;
/** Duration of one part of the filling, in milliseconds. */
const PART_MS = 5_000;

const table = new BenchmarkTable('accept-growth');
await using load = new AcceptLoad();
await using small = await Installation.start();
await using large = await Installation.start();
for (const { worker } of [small, large]) await worker.stop();

await inParallel(ACCOUNTS - 1, async (n) => {
  await large.call('POST', '/v1/accounts', {
    id: `account-${n}`,
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: 'key-of-the-benchmark',
    polling: false,
  });
});
await inParallel(WEBHOOKS, async (n) => {
  await large.call('POST', '/v1/webhooks', {
    url: `http://127.0.0.1:9/${n}`,
    eventTypes: ['send.cancelled'],
  });
});
for (let stored = 0; stored < SENDS;) stored += (await load.runOn(large, PART_MS)).count;

const { limit, product } = await inRounds(
  () => load.runOn(small),
  () => load.runOn(large),
);
table.compare(
  `accepted sends per second with ${SENDS} sends, ${ACCOUNTS} accounts and ${WEBHOOKS} webhooks`,
  product.map(({ rate }) => rate),
  limit.map(({ rate }) => rate),
  ['≥', 0.8],
);
table.print();

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}
