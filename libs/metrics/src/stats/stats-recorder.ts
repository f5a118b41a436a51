import { type Clock, type Logger, withDeadline } from '#platform';
import {
  addCounts,
  type CountsByMinute,
  type MinuteCounts,
  minuteNumberAt,
  createZeroCounts,
} from './minute-counts.js';
import { STATISTICS_PERIOD_MINUTES, type StatsStore } from './stats-store.js';

/** Time from the first unwritten count until all counts are written, in milliseconds. */
const WRITE_AFTER_MS = 5_000;
/** Maximum number of accounts whose counts are written at the same time. */
const ACCOUNTS_AT_ONCE = 100;
/** Maximum number of accounts with unwritten counts. Counts of further accounts are dropped until the next write. */
const MAX_ACCOUNTS = 10_000;
/** Maximum duration of the last write when the process stops, in milliseconds. */
const LAST_WRITE_MS = 1_000;

/** Counts what happens in each account. `add` returns at once and never throws. */
export interface StatsCounter {
  /**
   * Adds to counts of an account.
   * @param at the counts are added to the minute that contains this time (milliseconds since 1970 by Redis' clock); the
   * default is now
   */
  add(account: string, counts: Partial<MinuteCounts>, at?: number): void;
}

/** Numbers of waiting sends and deliveries of an account. */
export interface Backlog {
  /** Number of sends with the status `queued` or `relaying`. */
  sends: number;
  /** Number of pending deliveries. */
  deliveries: number;
}

export type ReadBacklog = (account: string) => Promise<Backlog>;

/**
 * Keeps the counts in the memory of this process, and writes them to the store some seconds after the first count. No
 * timer runs while there is nothing to write. Counts are lost if the process is killed before the write, or if the
 * write fails. A failed write is not repeated, because the store may have executed it. The Redis connection of a
 * worker, however, repeats a write whose reply was lost, so the counts of that write may be added twice.
 */
export class StatsRecorder implements StatsCounter {
  private counts = new Map<string, Map<number, MinuteCounts>>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private isStopped = false;
  /** True if the last write failed. Only the first of several failures in a row is logged. */
  private hasFailed = false;
  /** True if the last read of a {@link Backlog} failed. Only the first of several failures in a row is logged. */
  private hasReadFailed = false;
  /** Accounts whose {@link Backlog} this process has read in the minute {@link sampledMinute}. */
  private readonly sampled = new Set<string>();
  private sampledMinute = 0;

  constructor(
    private readonly store: StatsStore,
    private readonly clock: Clock,
    private readonly readBacklog: ReadBacklog,
    private readonly logger: Logger,
  ) {}

  add(account: string, counts: Partial<MinuteCounts>, at = this.clock.now()): void {
    const kept = this.countsOf(account, minuteNumberAt(at));
    if (kept !== undefined) addCounts(kept, counts);
  }

  /** Stops the recorder and writes the remaining counts, or drops them if the write takes too long. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    const lastWrite = (this.writing ?? Promise.resolve()).then(() => this.writeAll());
    // `writeAll` does not reject, so the only possible error is that the deadline has passed.
    await withDeadline(lastWrite, LAST_WRITE_MS, 'writing the last counts').catch(() => undefined);
  }

  private countsOf(account: string, minute: number): MinuteCounts | undefined {
    let minutes = this.counts.get(account);
    if (minutes === undefined) {
      if (this.isStopped || this.counts.size >= MAX_ACCOUNTS) return undefined;
      minutes = new Map<number, MinuteCounts>();
      this.counts.set(account, minutes);
      this.writeLater();
    }
    let counts = minutes.get(minute);
    if (counts === undefined) {
      // To limit the memory, the oldest minute of the account is dropped if too many minutes are unwritten.
      if (minutes.size > STATISTICS_PERIOD_MINUTES) {
        const oldest = Math.min(...minutes.keys());
        if (minute < oldest) return undefined;
        minutes.delete(oldest);
      }
      counts = createZeroCounts();
      minutes.set(minute, counts);
    }
    return counts;
  }

  /** Starts the timer of the next write, unless the timer or a write is already running. */
  private writeLater(): void {
    if (this.isStopped || this.timer !== undefined || this.writing !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.writing = this.writeAll().finally(() => {
        this.writing = undefined;
        if (this.counts.size > 0) this.writeLater();
      });
    }, WRITE_AFTER_MS).unref();
  }

  /** Writes all counts. Does not reject: counts that cannot be written are dropped. */
  private async writeAll(): Promise<void> {
    const all = [...this.counts];
    this.counts = new Map();
    for (let i = 0; i < all.length; i += ACCOUNTS_AT_ONCE)
      await Promise.all(
        all.slice(i, i + ACCOUNTS_AT_ONCE).map(([account, minutes]) => this.write(account, minutes)),
      );
  }

  private async write(account: string, minutes: Map<number, MinuteCounts>): Promise<void> {
    try {
      await this.store.add(account, await this.withBacklog(account, minutes));
      this.hasFailed = false;
    } catch (error) {
      if (!this.hasFailed)
        this.logger.warn(
          { account, err: error },
          'could not store the counts of an account; its statistics will be incomplete',
        );
      this.hasFailed = true;
    }
  }

  /**
   * Adds the numbers of the account's waiting sends and deliveries to the counts of the current minute. Reads these
   * numbers only once a minute. If the read fails, the counts are written without these numbers.
   */
  private async withBacklog(account: string, minutes: Map<number, MinuteCounts>): Promise<CountsByMinute> {
    const minute = minuteNumberAt(this.clock.now());
    if (minute !== this.sampledMinute) this.sampled.clear();
    this.sampledMinute = minute;
    if (this.sampled.has(account)) return minutes;
    this.sampled.add(account);
    const backlog = await this.sampleBacklog(account);
    if (backlog === undefined) return minutes;
    const counts = minutes.get(minute) ?? createZeroCounts();
    addCounts(counts, {
      backlogSamples: 1,
      backlogSends: backlog.sends,
      backlogDeliveries: backlog.deliveries,
    });
    return minutes.set(minute, counts);
  }

  private async sampleBacklog(account: string): Promise<Backlog | undefined> {
    try {
      const backlog = await this.readBacklog(account);
      this.hasReadFailed = false;
      return backlog;
    } catch (error) {
      if (!this.hasReadFailed)
        this.logger.warn(
          { account, err: error },
          'could not read the backlog of an account; its statistics will lack this sample',
        );
      this.hasReadFailed = true;
      return undefined;
    }
  }
}
