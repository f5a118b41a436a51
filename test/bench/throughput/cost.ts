import type { RedisClient } from '#platform';
import { usageOf } from '../../support/process-usage.js';

/** Resources that an operation used, on average. */
export interface Cost {
  /** Processor time of all measured programs and Redis, in milliseconds. */
  cpuMs: number;
  /** Processor time of the main thread of Redis, in milliseconds. */
  redisMs: number;
  /** Time of the scripts in Redis as `INFO commandstats` says, in milliseconds. */
  scriptMs: number;
  /** Number of scripts that ran. */
  scripts: number;
  /** Number of times that Redis read from a connection. Commands that are sent together are one read. */
  roundTrips: number;
}

interface Counters {
  programMs: number;
  redisCpuMs: number;
  redisMainMs: number;
  scriptMs: number;
  scripts: number;
  reads: number;
}

/**
 * Measures what a number of operations cost.
 * @param pids programs whose processor time counts, other than Redis
 * @param work returns the number of operations
 */
export async function costOf(
  redis: RedisClient,
  pids: readonly number[],
  work: () => Promise<number>,
): Promise<Cost> {
  const before = await counters(redis, pids);
  const count = await work();
  const after = await counters(redis, pids);
  const each = (name: keyof Counters): number => (after[name] - before[name]) / count;
  return {
    cpuMs: each('programMs') + each('redisCpuMs'),
    redisMs: each('redisMainMs'),
    scriptMs: each('scriptMs'),
    scripts: each('scripts'),
    roundTrips: each('reads'),
  };
}

async function counters(redis: RedisClient, pids: readonly number[]): Promise<Counters> {
  const usages = await Promise.all(pids.map(usageOf));
  const info = await redis.info('everything');
  const numberOf = (name: string): number =>
    Number(new RegExp(`^${name}:([0-9.]+)`, 'm').exec(info)?.[1] ?? 0);
  const commands = [...info.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+),usec=(\d+)/gm)];
  return {
    programMs: usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    redisCpuMs: (numberOf('used_cpu_sys') + numberOf('used_cpu_user')) * 1_000,
    redisMainMs: (numberOf('used_cpu_sys_main_thread') + numberOf('used_cpu_user_main_thread')) * 1_000,
    scriptMs: commands.reduce((sum, match) => sum + Number(match[2]), 0) / 1_000,
    scripts: commands.reduce((sum, match) => sum + Number(match[1]), 0),
    reads: numberOf('total_reads_processed'),
  };
}
