// Measures the CPU time of one worker and of Redis for accounts without changes: with one account, and with
// many. Uses real processes. Contacts and lists are read at their maximum intervals, evenly spread.
// TIDINGS_IDLE_ACCOUNTS sets the number of accounts of each run, TIDINGS_IDLE_SECONDS the length of a
// measurement.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accountEncryptionContext, DEFAULT_ACCOUNT_ID, RedisAccountStore, SecretCipher } from '#accounts';
import { accountKeys, closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { type ProductProcess, startProcess } from '../support/process.js';
import { withTestRedis } from '../support/redis-server.js';
import { atMost, heading, information, short } from './figures.js';

const WORKER_BOUND_PERCENT = 15;
const REDIS_BOUND_PERCENT = 5;
const CONTACTS = 10;
/** Interval of the polls of contacts and of contact lists, in milliseconds. */
const INTERVAL_MS = 300_000;
const COUNTS = (process.env.TIDINGS_IDLE_ACCOUNTS ?? '1,1000').split(',').map(Number);
const SECONDS = Number(process.env.TIDINGS_IDLE_SECONDS ?? '30');
/** Minimum time after the start of a worker until its cost is constant, in milliseconds. */
const SETTLE_MS = 10_000;
const SETTLED_WITHIN_MS = 120_000;
const FIRST_READS_WITHIN_MS = 300_000;
const PREFIX = 'tidings';
const KEY = 'simulator-key-of-a-bench';
/** Length of the kernel's clock tick for CPU times, in milliseconds. */
const TICK_MS = 10;
/** Number of commands that are printed, most expensive first. */
const TOP_COMMANDS = 8;

/** The cost of a run: CPU in percent of one core, and requests per second. */
interface Cost {
  worker: number;
  redis: number;
  requests: number;
  /** Number of requests per second that read a contact list. */
  lists: number;
}

async function cpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program name may contain spaces. The fields after it do not.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function simulate<T>(simulator: ProductProcess, verb: string, body: object): Promise<T> {
  const reply = await fetch(`http://127.0.0.1:${simulator.port}/_simulator/${verb}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${verb} answered ${reply.status}`);
  return (await reply.json()) as T;
}

async function addAccounts(
  redis: RedisClient,
  count: number,
  baseUrl: string,
  encryptionKey: Buffer,
): Promise<string[]> {
  const store = new RedisAccountStore(redis, PREFIX);
  const cipher = new SecretCipher(encryptionKey, []);
  const ids = Array.from({ length: count - 1 }, (_, n) => `idle-${n}`);
  const at = new Date().toISOString();
  for (const id of ids) {
    const sealedApiKey = cipher.encrypt(KEY, accountEncryptionContext(id));
    const times = { createdAt: at, updatedAt: at };
    await store.add({ id, baseUrl, sealedApiKey, requestsPerSecond: 10, polling: true, ...times });
  }
  return [DEFAULT_ACCOUNT_ID, ...ids];
}

const dueKey = (account: string): string => accountKeys(PREFIX, account)('polls', 'due');

/** Waits until each account's contacts have been read once and are due again after the maximum interval. */
async function untilRead(redis: RedisClient, accounts: readonly string[]): Promise<void> {
  const end = performance.now() + FIRST_READS_WITHIN_MS;
  for (const account of accounts) {
    for (;;) {
      const soon = String(Date.now() + INTERVAL_MS / 4);
      if ((await redis.zcount(dueKey(account), soon, '+inf')) === CONTACTS) break;
      if (performance.now() > end) throw new Error(`The contacts of ${account} were not read in time.`);
      await pause(250);
    }
  }
}

async function untilSettled(simulator: ProductProcess, count: number): Promise<void> {
  const end = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    await simulate(simulator, 'ledger/clear', {});
    await pause(SETTLE_MS);
    const { entries } = await simulate<{ entries: object[] }>(simulator, 'ledger', { kind: 'request' });
    if (entries.length >= Math.floor((count * CONTACTS * SETTLE_MS) / INTERVAL_MS / 2)) return;
    if (performance.now() > end) throw new Error('The worker does not poll.');
  }
}

/** Spreads the due times evenly. After the first reads, all contacts would be due together. */
async function spread(redis: RedisClient, accounts: readonly string[]): Promise<void> {
  const now = Date.now();
  for (const account of accounts) {
    const contacts = await redis.zrange(dueKey(account), '0', '-1');
    const times = contacts.flatMap((id) => [Math.round(now + Math.random() * INTERVAL_MS), id]);
    await redis.zadd(dueKey(account), 'XX', ...times);
  }
}

/** Returns the commands that use most of Redis' time, as text. */
async function topCommands(redis: RedisClient): Promise<string> {
  const stats = [...(await redis.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+),usec=(\d+)/g)];
  const rows = stats.map(([, name = '', calls, usec]) => ({
    name,
    calls: Number(calls),
    usec: Number(usec),
  }));
  return rows
    .sort((a, b) => b.usec - a.usec)
    .slice(0, TOP_COMMANDS)
    .map(({ name, calls, usec }) => `${name} ${short(calls / SECONDS)}/s ${short(usec / SECONDS / 10_000)} %`)
    .join(', ');
}

async function measure(redis: RedisClient, worker: ProductProcess, simulator: ProductProcess): Promise<Cost> {
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);
  const workerPid = worker.child.pid ?? 0;
  await redis.config('RESETSTAT');
  await simulate(simulator, 'ledger/clear', {});
  const before = [await cpuMs(workerPid), await cpuMs(redisPid)] as const;
  await pause(SECONDS * 1_000);
  const after = [await cpuMs(workerPid), await cpuMs(redisPid)] as const;
  const { entries } = await simulate<{ entries: { path: string }[] }>(simulator, 'ledger', {
    kind: 'request',
  });
  const percent = (from: number, to: number): number => (to - from) / SECONDS / 10;
  return {
    worker: percent(before[0], after[0]),
    redis: percent(before[1], after[1]),
    requests: entries.length / SECONDS,
    lists: entries.filter(({ path }) => !path.includes('/messages')).length / SECONDS,
  };
}

async function costOf(count: number): Promise<Cost> {
  const directory = await mkdtemp(join(tmpdir(), 'tidings-idle-'));
  const processes: ProductProcess[] = [];
  try {
    return await withTestRedis(async ({ url }) => {
      const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
      await once(redis, 'ready');
      try {
        const simulator = await startProcess('simulator', {
          SIMULATOR_PORT: '0',
          SIMULATOR_API_KEY: KEY,
          SIMULATOR_STATE_FILE: join(directory, 'simulator.json'),
          SIMULATOR_SETTINGS: JSON.stringify({ demo: false }),
        });
        processes.push(simulator);
        await simulate(simulator, 'contacts', { count: CONTACTS });
        const encryptionKey = randomBytes(32);
        const baseUrl = `http://127.0.0.1:${simulator.port}/v1`;
        const accounts = await addAccounts(redis, count, baseUrl, encryptionKey);
        const startWorker = async (): Promise<ProductProcess> => {
          const worker = await startProcess('worker', {
            REDIS_URL: url,
            ENCRYPTION_KEY: encryptionKey.toString('base64'),
            UPSTREAM_BASE_URL: baseUrl,
            UPSTREAM_API_KEY: KEY,
            CONTACTS_INTERVAL_MS: String(INTERVAL_MS),
            POLL_MIN_INTERVAL_MS: String(INTERVAL_MS),
            POLL_MAX_INTERVAL_MS: String(INTERVAL_MS),
            BLOB_STORE: `file:${join(directory, 'blobs')}`,
            WORKER_PORT: '0',
            LOG_LEVEL: 'warn',
            ...(process.env.NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS: process.env.NODE_OPTIONS }),
          });
          processes.push(worker);
          return worker;
        };
        const first = await startWorker();
        await untilRead(redis, accounts);
        await first.stop();
        await spread(redis, accounts);
        const worker = await startWorker();
        await untilSettled(simulator, count);
        const cost = await measure(redis, worker, simulator);
        information(
          `${count} ${count === 1 ? 'account' : 'accounts'}: worker ${short(cost.worker)} %, Redis ${short(cost.redis)} %, ${short(cost.requests)} upstream requests a second, ${short(cost.lists)} of them contact lists`,
        );
        information(`  ${await topCommands(redis)}`);
        return cost;
      } finally {
        for (const running of processes) await running.stop();
        await closeRedis(redis);
      }
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

heading(`CPU of one core that idle accounts of ${CONTACTS} contacts cost, over ${SECONDS} s`);
const costs: Cost[] = [];
for (const count of COUNTS) costs.push(await costOf(count));
const [few, many] = [costs[0], costs.at(-1)];
if (few !== undefined && many !== undefined) {
  const most = COUNTS.at(-1) ?? 0;
  atMost(WORKER_BOUND_PERCENT, many.worker, `${most} accounts, worker in % of a core`);
  atMost(REDIS_BOUND_PERCENT, many.redis, `${most} accounts, Redis in % of a core`);
  information(
    `so many times what one account costs: worker ${short(many.worker / few.worker)}, Redis ${short(many.redis / few.redis)}`,
  );
}
