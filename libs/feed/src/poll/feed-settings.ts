/** Settings for the polls of contacts and of the contact list. */
export interface FeedSettings {
  /** Bounds of a contact's polling interval, in milliseconds. */
  interval: { min: number; max: number };
  /** Returns the upstream requests per second that the account's polls can plan with. */
  readsPerSecond(account: string): Promise<number>;
  /** Whether the first read of a contact emits messages without a readable timestamp (`emit`) or not (`silent`). */
  undated: 'silent' | 'emit';
  /** Time after a message's timestamp during which its flags may still change, in milliseconds. */
  settleMs: number;
  /** Time between two reads of older messages of all messages of a contact, in milliseconds. */
  sweepMs: number;
  /** Minimum time between the two reads without a message or contact that a deletion needs, in milliseconds. */
  absenceMs: number;
  /**
   * Delays before the retries of a failed page of a read of older messages, in milliseconds; then the page is read
   * in parts.
   */
  pageRetriesMs?: readonly number[];
}

/** Minimum time between the two complete reads that a deletion needs, in milliseconds; part of the public contract. */
export const MIN_ABSENCE_MS = 60_000;
