/** How the feed polls. */
export interface FeedSettings {
  /** Bounds of one contact's interval, in milliseconds. */
  interval: { min: number; max: number };
  /** Upstream requests a second that an account's polls may plan with. */
  readsPerSecond(account: string): Promise<number>;
  /** What becomes of messages without a readable timestamp when their contact is first read. */
  undated: 'silent' | 'emit';
  /** How long after its timestamp a message's flags are looked after, in milliseconds. */
  settleMs: number;
  /** Every message of every contact is read again this often, in milliseconds. */
  sweepMs: number;
  /** Two reads that do not show something are at least so far apart before it is told as deleted, in milliseconds. */
  absenceMs: number;
  /** Waits before a page below the head that failed is asked for again, in milliseconds; then it is read in parts. */
  pageRetriesMs?: readonly number[];
}

/** What the product promises: a deletion needs two complete reads at least so far apart. */
export const ABSENCE_MS = 60_000;
