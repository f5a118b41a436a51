import { accountKeys, LuaScript, type RedisClient } from '#platform';
import {
  PER_MINUTE_COUNT_NAMES,
  type CountsByMinute,
  isCountKeptAsMaximum,
  createZeroCounts,
} from './minute-counts.js';
import { type StoredStats, STATISTICS_PERIOD_MINUTES, type StatsStore } from './stats-store.js';

const addStatsScript = LuaScript.from(import.meta.url, 'lua/add-stats.lua', {
  MAX_AGE: STATISTICS_PERIOD_MINUTES,
});

const readStatsScript = LuaScript.from(import.meta.url, 'lua/read-stats.lua');

/**
 * Implements {@link StatsStore} in Redis, with one hash per account. Each field of the hash contains the counts of
 * one minute, packed with MessagePack. The hash expires about an hour after the last count.
 */
export class RedisStatsStore implements StatsStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async add(account: string, minutes: CountsByMinute): Promise<void> {
    const counts: (string | number)[] = [];
    for (const [minute, values] of minutes) {
      for (const [index, name] of PER_MINUTE_COUNT_NAMES.entries()) {
        const value = Math.round(values[name]);
        if (value > 0) counts.push(minute, index + 1, isCountKeptAsMaximum(name) ? 'max' : 'sum', value);
      }
    }
    if (counts.length === 0) return;
    await addStatsScript.run(this.redis, { stats: this.keyOf(account) }, { counts });
  }

  async read(account: string): Promise<StoredStats> {
    const reply = await readStatsScript.run(this.redis, { stats: this.keyOf(account) });
    const { now, minutes } = reply as { now: string; minutes: number[][] };
    return {
      now: Number(now),
      minutes: new Map(
        minutes.map(([minute = 0, ...values]) => {
          const counts = createZeroCounts();
          for (const [index, name] of PER_MINUTE_COUNT_NAMES.entries()) counts[name] = values[index] ?? 0;
          return [minute, counts];
        }),
      ),
    };
  }

  private keyOf(account: string): string {
    return accountKeys(this.prefix, account)('stats');
  }
}
