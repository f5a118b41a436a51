// Deliveries of three accounts that share a Cluster of three masters, beside those of three installations with one account
// and one Redis each. Both have three workers, and run on the same processors.
import { availableParallelism } from 'node:os';
import { accountKeys } from '#platform';
import { usageOf } from '../support/process-usage.js';
import { DeliverRun } from './throughput/deliver-run.js';
import { BenchmarkRedis, Installation, pidOf } from './throughput/installation.js';
import { Program } from './throughput/program.js';
import { inRounds } from './throughput/rounds.js';
import { BenchmarkTable } from './throughput/table.js';

const MASTERS = 3;
const ENDPOINTS = 10;
const EVENTS = 500;

await using receiverA = Program.start('receiver', {});
await using receiverB = Program.start('receiver', {});
await using receiverC = Program.start('receiver', {});
const receivers = [receiverA, receiverB, receiverC];
await using runA = await DeliverRun.start(receiverA, { endpoints: ENDPOINTS });
await using runB = await DeliverRun.start(receiverB, { endpoints: ENDPOINTS });
await using runC = await DeliverRun.start(receiverC, { endpoints: ENDPOINTS });
const apart = [runA, runB, runC];

const cluster = await BenchmarkRedis.startCluster();
await using shared = await Installation.start({}, cluster);
const workers = [shared.worker];
while (workers.length < receivers.length) {
  await shared.startWorker();
  workers.push(shared.worker);
}
const ids = await accountsOnDifferentMasters();
const together: DeliverRun[] = [];
for (const [n, receiver] of receivers.entries()) {
  const id = ids[n] ?? '';
  const place = { installation: shared, account: { id, apiKey: await createAccount(id) } };
  together.push(await DeliverRun.start(receiver, { endpoints: ENDPOINTS, place }));
}

const { limit, product } = await inRounds(
  () => deliverAll(apart),
  async () => {
    const began = { at: performance.now(), ms: await usedMs() };
    const rate = await deliverAll(together);
    const capacity = (performance.now() - began.at) * availableParallelism();
    return { rate, busy: ((await usedMs()) - began.ms) / capacity };
  },
);
const table = new BenchmarkTable('deliver-cluster');
table.compare(
  'deliveries per second of three accounts on a Cluster of three masters',
  product.map(({ rate }) => rate),
  limit,
  ['≥', 0.9],
);
table.single(
  'share of the processors that three workers, the Cluster and the receivers used',
  product.map(({ busy }) => busy),
);
table.print();
await Promise.all(workers.slice(0, -1).map((worker) => worker.stop('SIGKILL')));

/** Delivers the same number of events in each run at once. Returns the deliveries per second of all together. */
async function deliverAll(runs: readonly DeliverRun[]): Promise<number> {
  const rates = await Promise.all(runs.map(async (run) => (await run.deliver(EVENTS)).rate));
  return runs.length * Math.min(...rates);
}

/** Returns ids of accounts whose keys are on different masters. */
async function accountsOnDifferentMasters(): Promise<string[]> {
  const found = new Map<number, string>();
  for (let n = 0; found.size < MASTERS; n += 1) {
    const id = `account-${n}`;
    const slot = await cluster.client.cluster('KEYSLOT', accountKeys('tidings', id)('log'));
    const master = Math.floor((slot * MASTERS) / 16_384);
    if (!found.has(master)) found.set(master, id);
  }
  return [...found.values()];
}

/** Creates an account that is not polled. Returns one of its API keys. */
async function createAccount(id: string): Promise<string> {
  const upstream = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'key-of-the-benchmark', polling: false };
  await shared.call('POST', '/v1/accounts', { id, ...upstream });
  const apiKey = { account: id, name: 'benchmark', scopes: ['webhooks:manage'] };
  return (await shared.call<{ key: string }>('POST', '/v1/api-keys', apiKey)).key;
}

/** Returns the processor time of all programs that take part. */
async function usedMs(): Promise<number> {
  const pids = [...workers.map(pidOf), ...cluster.pids, ...receivers.map(({ pid }) => pid)];
  return (await Promise.all(pids.map(usageOf))).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}
