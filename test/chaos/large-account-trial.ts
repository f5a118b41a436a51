import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';
import { LargeUpstream } from '../support/large-upstream.js';
import { ResidentMemory, usageOf } from '../support/process-usage.js';

const REQUESTS_PER_SECOND = 50;
const SCHEDULED_WITHIN_MS = 180_000;
/** Long enough for a second look at the list, and for some hundred polls. */
const OBSERVED_MS = 25_000;
/** While the cost is measured, so many contacts are due; all others are not, for hours. */
const DUE = 2_000;
const NOT_DUE_FOR_MS = 10 * 3_600_000;
/** A worker reads the list when it starts: that is over by then. */
const SETTLE_MS = 15_000;
const COST_MS = 12_000;
const SAMPLE = 200;
const ACCOUNT = 'tidings:{default}:';

export interface AccountCost {
  contacts: number;
  /** From the first list's request until every contact was scheduled. */
  scheduledMs: number;
  /** Bytes of Redis a contact: the indexes of who is due when, and what the schedule keeps in a contact's record. */
  scheduleBytes: number;
  /** The most that the worker's resident memory came to, in bytes. */
  rss: number;
  /** Of the worker and of Redis, in milliseconds of processor time a poll, while nearly everybody is not due. */
  workerMsAPoll: number;
  redisMsAPoll: number;
}

/** What one account of so many contacts costs one worker and its Redis. */
export async function measureAccount(contacts: number): Promise<AccountCost> {
  await using upstream = await LargeUpstream.start(contacts);
  await using fleet = await Fleet.open({
    upstream: upstream.baseUrl,
    environment: {
      UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
      CONTACTS_INTERVAL_MS: '15000',
    },
  });
  await fleet.startGateway();
  const worker = await fleet.startWorker();
  const memory = new ResidentMemory(worker);
  const scheduledMs = await memory.during(async () => {
    await eventually(
      'every contact is scheduled',
      async () => (await fleet.poller()).contacts >= contacts,
      SCHEDULED_WITHIN_MS,
    );
    const ms = Date.now() - (upstream.firstListAt ?? NaN);
    await pause(OBSERVED_MS);
    return ms;
  });
  if (upstream.lists < 2) throw new Error('the list was not read a second time');
  const redis = new Redis(fleet.redis.url);
  try {
    const scheduleBytes = await scheduleBytesOf(redis, contacts);
    await fleet.kill(worker);
    await postponeAllBut(redis, contacts, DUE);
    const cost = await costOfPolls(fleet, upstream, redis);
    return { contacts, scheduledMs, scheduleBytes, rss: memory.most, ...cost };
  } finally {
    redis.disconnect();
  }
}

/** The account's sorted sets that have a member for nearly every contact: who is due when. */
async function dueIndexes(redis: Redis, contacts: number): Promise<string[]> {
  const indexes: string[] = [];
  for await (const keys of redis.scanStream({ match: `${ACCOUNT}*`, type: 'zset', count: 5_000 }))
    for (const key of keys as string[]) if ((await redis.zcard(key)) > contacts / 2) indexes.push(key);
  if (indexes.length === 0) throw new Error('nothing says which contact is due when');
  return indexes;
}

async function scheduleBytesOf(redis: Redis, contacts: number): Promise<number> {
  const indexes = await dueIndexes(redis, contacts);
  let bytes = 0;
  // All members: sampled ones may be shorter than others.
  for (const key of indexes) bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', '0'));
  return Math.round(bytes / contacts + (await recordBytes(redis, indexes[0] ?? '')));
}

/** What a record is larger by for its fields of the schedule (the share, and what is not the packed memory), on average. */
async function recordBytes(redis: Redis, index: string): Promise<number> {
  const read: number[] = [];
  // The last are those that were polled the latest.
  for (const id of await redis.zrange(index, String(-SAMPLE), '-1')) {
    const [key, bare] = [`${ACCOUNT}c:${id}`, `${ACCOUNT}trial:${id}`];
    await redis.copy(key, bare);
    const fields = (await redis.hkeys(bare)).filter((field) => field === 's' || /^x\d+$/.test(field));
    if (fields.length > 0) await redis.hdel(bare, ...fields);
    const [whole, without] = await Promise.all([redis.memory('USAGE', key), redis.memory('USAGE', bare)]);
    // A longer key costs more by itself.
    read.push(Number(whole) - Number(without) + (bare.length - key.length));
    await redis.del(bare);
  }
  return read.reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, read.length);
}

async function postponeAllBut(redis: Redis, contacts: number, due: number): Promise<void> {
  for (const index of await dueIndexes(redis, contacts)) {
    const ids = await redis.zrange(index, '0', '-1');
    for (let at = 0; at < ids.length; at += 5_000) {
      const scored = ids.slice(at, at + 5_000).map((id, n): [number, string] => {
        const isDue = at + n < due;
        return [Date.now() + (isDue ? 0 : NOT_DUE_FOR_MS), id];
      });
      await redis.zadd(index, ...scored.flat().map(String));
    }
  }
}

async function costOfPolls(
  fleet: Fleet,
  upstream: LargeUpstream,
  redis: Redis,
): Promise<Pick<AccountCost, 'workerMsAPoll' | 'redisMsAPoll'>> {
  // The list is not read while it is measured: its cost is not a poll's.
  const worker = await fleet.startWorker({ CONTACTS_INTERVAL_MS: '3600000' });
  await pause(SETTLE_MS);
  const look = async (): Promise<[number, number, number]> => [
    upstream.pages,
    (await usageOf(worker.child.pid)).cpuMs,
    await cpuMsOf(redis),
  ];
  const { lists } = upstream;
  const before = await look();
  await pause(COST_MS);
  const after = await look();
  if (upstream.lists !== lists) throw new Error('the list was read meanwhile');
  const [pages = 0, workerMs = 0, redisMs = 0] = after.map((value, i) => value - (before[i] ?? 0));
  if (pages < 100) throw new Error(`only ${pages} pages were read`);
  return { workerMsAPoll: workerMs / pages, redisMsAPoll: redisMs / pages };
}

async function cpuMsOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (field: string): number => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000;
}
