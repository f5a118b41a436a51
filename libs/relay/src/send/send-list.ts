import type { Send, SendStatus } from './send.js';

/** Filter of the send list. A send must match every given field. */
export interface SendFilter {
  status?: SendStatus;
  reference?: string;
  /** E.164. */
  phoneNumber?: string;
}

/** A page of the send list, newest first. */
export interface SendPage {
  sends: Send[];
  /** Cursor of the next page; absent on the last page. A page with a cursor may hold few or no sends. */
  next?: number;
}

/** Statistics of an account's sends. */
export interface SendsOverview {
  /** Number of sends in each status. */
  counts: Readonly<Record<SendStatus, number>>;
  lanes: {
    /** Number of lanes with queued or relaying sends. */
    count: number;
    /** Number of these lanes that are due now. */
    due: number;
    /** Number of sends in the longest lane. */
    deepest: number;
  };
  /** How long the oldest queued or relaying send has been in its lane, in milliseconds. */
  oldestQueuedMs: number;
}

/** Lists sends. The indexes are written in the same atomic steps as the sends. */
export interface SendList {
  /**
   * Returns the sends that match, newest acceptance first. The cost of a call is bounded, whatever the filter.
   * @param before the `next` of the previous page
   */
  list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage>;

  overview(account: string): Promise<SendsOverview>;
}
