/** Settings for the polls of contacts and of the contact list. */
export interface FeedSettings {
  /** Shortest and longest interval between two polls of a contact, in milliseconds. */
  interval: { min: number; max: number };
  /** Returns how many upstream requests per second of the account's budget are available to polls. */
  readsPerSecond(account: string): Promise<number>;
  /**
   * Whether the first read of a contact emits events for messages that have no readable timestamp. `emit`: for all
   * of them. `silent`: only for messages that belong to sends.
   */
  undated: 'silent' | 'emit';
  /**
   * Time after a message's timestamp during which its flags (`delivered`, `read`) may still change, in
   * milliseconds.
   */
  settleMs: number;
  /** Time between two sweeps of a contact (regular reads of all its messages), in milliseconds. */
  sweepMs: number;
  /**
   * A message or contact counts as deleted if it is missing from two complete reads that are at least this
   * long apart, in milliseconds.
   */
  absenceMs: number;
  /**
   * How long to wait before each retry of a failed page in a read of older messages, in milliseconds. If the
   * last retry fails too, the page is read in smaller parts.
   */
  pageRetriesMs?: readonly number[];
}

/**
 * A message or contact counts as deleted if it is missing from two complete reads that are at least this long
 * apart, in milliseconds. The API documentation also states this time.
 */
export const MIN_ABSENCE_UNTIL_DELETED_MS = 60_000;
