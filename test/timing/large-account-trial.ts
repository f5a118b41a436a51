import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';
import { LargeUpstream } from '../support/large-upstream.js';
import { ResidentMemory, usageOf } from '../support/process-usage.js';

const REQUESTS_PER_SECOND = 50;
const SCHEDULED_WITHIN_MS = 180_000;
/** Time of observation, in milliseconds. Covers a second read of the list and some hundred polls. */
const OBSERVED_MS = 25_000;
/**
 * Number of contacts that are due while the cost of a poll is measured. All other contacts are due hours
 * later.
 */
const DUE = 2_000;
const NOT_DUE_FOR_MS = 10 * 3_600_000;
/** Wait until the worker has read the contact list after its start, in milliseconds. */
const SETTLE_MS = 15_000;
const COST_MS = 12_000;
const SAMPLE = 200;
const ACCOUNT = 'tidings:{default}:';

/** The cost of one account. */
export interface AccountCost {
  contacts: number;
  /** Time from the first list's request until every contact was scheduled, in milliseconds. */
  scheduledMs: number;
  /**
   * Bytes in Redis per contact for the schedule: the due indexes and the schedule's fields in the contact's
   * record.
   */
  scheduleBytes: number;
  /** Maximum resident memory of the worker, in bytes. */
  rss: number;
  /** CPU time of the worker and of Redis per poll, in milliseconds, while most contacts are not due. */
  workerMsPerPoll: number;
  redisMsPerPoll: number;
}

/** Measures the cost of one account for one worker and its Redis. */
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
  if (upstream.lists < 2) throw new Error('the contact list was not read twice');
  const redis = new Redis(fleet.redis.url);
  try {
    const scheduleBytes = await scheduleBytesOf(redis, contacts);
    await fleet.kill(worker);
    await postponeAllBut(redis, contacts, DUE);
    const cost = await costOfPolls(fleet, upstream, redis);
    return { contacts, scheduledMs, scheduleBytes, rss: memory.max, ...cost };
  } finally {
    redis.disconnect();
  }
}

/** Returns the keys of the sorted sets that say when each contact is due: those with more than half of the contacts. */
async function dueIndexes(redis: Redis, contacts: number): Promise<string[]> {
  const indexes: string[] = [];
  for await (const keys of redis.scanStream({ match: `${ACCOUNT}polls:*`, type: 'zset', count: 5_000 }))
    for (const key of keys as string[]) if ((await redis.zcard(key)) > contacts / 2) indexes.push(key);
  if (indexes.length === 0) throw new Error('no due index was found');
  return indexes;
}

async function scheduleBytesOf(redis: Redis, contacts: number): Promise<number> {
  const indexes = await dueIndexes(redis, contacts);
  let bytes = 0;
  // Measures all members, because sampled members may be shorter than others.
  for (const key of indexes) bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', '0'));
  return Math.round(bytes / contacts + (await recordBytes(redis, indexes[0] ?? '')));
}

/** Returns the average size of the schedule's fields in a contact's record, in bytes. */
async function recordBytes(redis: Redis, index: string): Promise<number> {
  const read: number[] = [];
  // The last members were polled most recently.
  for (const id of await redis.zrange(index, String(-SAMPLE), '-1')) {
    const [key, bare] = [`${ACCOUNT}c:${id}`, `${ACCOUNT}trial:${id}`];
    await redis.copy(key, bare);
    const fields = (await redis.hkeys(bare)).filter((field) => field === 's' || /^x\d+$/.test(field));
    if (fields.length > 0) await redis.hdel(bare, ...fields);
    const [whole, without] = await Promise.all([redis.memory('USAGE', key), redis.memory('USAGE', bare)]);
    // Corrects the difference of the key lengths.
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
): Promise<Pick<AccountCost, 'workerMsPerPoll' | 'redisMsPerPoll'>> {
  // The contact list is not read during the measurement, because its cost does not belong to a poll.
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
  if (upstream.lists !== lists) throw new Error('the contact list was read during the measurement');
  const [pages = 0, workerMs = 0, redisMs = 0] = after.map((value, i) => value - (before[i] ?? 0));
  if (pages < 100) throw new Error(`only ${pages} pages were read`);
  return { workerMsPerPoll: workerMs / pages, redisMsPerPoll: redisMs / pages };
}

async function cpuMsOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (field: string): number => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000;
}
