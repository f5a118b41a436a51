import {
  addCounts,
  PER_MINUTE_COUNT_NAMES,
  type CountsByMinute,
  type StoredStats,
  type MinuteCounts,
  minuteNumberAt,
  createZeroCounts,
  STATISTICS_PERIOD_MINUTES,
  type StatsStore,
} from '#metrics';

/** A {@link StatsStore} in memory for tests, with a clock that the test sets. */
export class MemoryStatsStore implements StatsStore {
  /** Error that the following calls throw. */
  fault: Error | undefined;
  /** Number of calls of {@link add}. */
  writes = 0;
  private readonly accounts = new Map<string, Map<number, MinuteCounts>>();

  constructor(private readonly now: () => number = Date.now) {}

  add(account: string, minutes: CountsByMinute): Promise<void> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    this.writes += 1;
    const kept = this.accounts.get(account) ?? new Map<number, MinuteCounts>();
    this.accounts.set(account, kept);
    for (const [minute, counts] of minutes) {
      if (!this.isKept(minute)) continue;
      const sums = kept.get(minute) ?? createZeroCounts();
      for (const name of PER_MINUTE_COUNT_NAMES) addCounts(sums, { [name]: Math.round(counts[name]) });
      kept.set(minute, sums);
    }
    for (const minute of kept.keys()) if (!this.isKept(minute)) kept.delete(minute);
    return Promise.resolve();
  }

  read(account: string): Promise<StoredStats> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    return Promise.resolve({ now: this.now(), minutes: this.accounts.get(account) ?? new Map() });
  }

  private isKept(minute: number): boolean {
    const age = minuteNumberAt(this.now()) - minute;
    return age >= -1 && age <= STATISTICS_PERIOD_MINUTES;
  }
}
