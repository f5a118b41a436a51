import type { CountsByMinute } from './minute-counts.js';

/** Number of minutes that the statistics show. The last of them is the current, incomplete minute. */
export const STATISTICS_PERIOD_MINUTES = 60;

/** The stored statistics of an account: counts of its sends, events, deliveries and upstream requests. */
export interface StoredStats {
  /** When the counts were read, in milliseconds since 1970 by the clock of the store. */
  now: number;
  /**
   * The counts of each minute in which anything was counted. May include minutes that are too old for the statistics.
   */
  minutes: CountsByMinute;
}

/** Stores the counts of each account by minute, for about an hour. All processes add to the same counts. */
export interface StatsStore {
  /**
   * Adds counts to the stored counts of an account. Ignores the counts of minutes that are more than
   * {@link STATISTICS_PERIOD_MINUTES} before, or more than one after, the current minute of the store's clock.
   */
  add(account: string, minutes: CountsByMinute): Promise<void>;

  /** Returns the counts of an account for each minute of about the last hour. */
  read(account: string): Promise<StoredStats>;
}
