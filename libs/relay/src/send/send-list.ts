import type { Send, SendStatus } from './send.js';

/** Filter of the send list. A send must match every given field. */
export interface SendFilter {
  status?: SendStatus;
  reference?: string;
  /** Selects the sends to one recipient: a phone number in E.164 format. */
  phoneNumber?: string;
  /**
   * Predicate of the caller. The list contains only sends for which it resolves to true. The cursor of the next page
   * is the position of such a send, unless the call has examined the maximum number of sends.
   */
  accepts?: (send: Send) => Promise<boolean>;
}

/** A page of the send list, newest first. */
export interface SendPage {
  sends: Send[];
  /** Cursor of the next page; absent on the last page. A page that is not the last may contain few sends or none. */
  next?: number;
}

/** Summary of an account's sends. */
export interface SendsOverview {
  /** Number of sends in each status. */
  counts: Readonly<Record<SendStatus, number>>;
  /** The lanes: each is the queue of one recipient's sends. */
  lanes: {
    /** Number of lanes with queued or relaying sends. */
    count: number;
    /** Number of lanes that are due now. */
    due: number;
    /** Number of sends in the longest lane. */
    deepest: number;
  };
  /**
   * How long the oldest queued or relaying send has been in its lane, in milliseconds; 0 if no send is queued or
   * relaying.
   */
  oldestQueuedMs: number;
}

/** Lists and counts an account's sends. */
export interface SendList {
  /**
   * Returns a page of the sends that match the filter, newest first. A call examines a limited number of sends,
   * whatever the filter is. A page of several sends ends before its sends exceed 4 MB in total, so a page of large
   * sends is shorter.
   * @param before the `next` of the previous page
   */
  list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage>;

  /** Returns the summary of an account's sends. */
  overview(account: string): Promise<SendsOverview>;
}
