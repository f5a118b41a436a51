import type { IntervalBounds } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';

/** Statistics of the detection delay of an account's new messages in the last hour. */
export interface DetectionDelay {
  /**
   * `p50Ms` and `p95Ms` are the median and the 95th percentile of the time from a message's timestamp to the commit
   * of its event, in milliseconds. Absent if {@link count} is 0.
   */
  p50Ms?: number;
  p95Ms?: number;
  /** Number of new messages from whose detection delays `p50Ms` and `p95Ms` were calculated. */
  count: number;
  /**
   * Number of new messages without a usable timestamp: for example, it is missing, or more than a minute ahead of
   * upstream's clock. These messages are included in `count`. Their detection delays are estimated from the times of
   * the polls.
   */
  estimated: number;
  /**
   * Number of messages that were more than a day old when their events were committed. They are not included in
   * `count`.
   */
  late: number;
}

/** Why the contact list of an account cannot be read, and since when. */
export interface ListFault {
  /** Human-readable reason why the contact list cannot be read. The text quotes nothing from upstream. */
  reason: string;
  /**
   * Time of the first failed read of the contact list since the last successful read, in milliseconds since
   * 1970 by Redis' clock.
   */
  since: number;
}

/** State of the polling of an account's contacts. */
export interface FeedOverview {
  /** Number of contacts of the account that are polled. */
  contacts: number;
  /**
   * `due` is the number of contacts that are due to be polled now. `lagMs` is how long the longest overdue
   * contact has been due, in milliseconds.
   */
  due: number;
  lagMs: number;
  /**
   * When the contact list was last read completely and no outage was suspected, in milliseconds since 1970 by
   * upstream's clock. Absent before the first complete read.
   */
  listedAt?: number;
  /** Why the contact list cannot be read. Absent if it can be read. */
  listFault?: ListFault;
  /**
   * When a read first found that upstream shows far fewer contacts or messages than before, in milliseconds since
   * 1970 by Redis' clock. Absent if there is no such decrease, or if an administrator has confirmed the deletions
   * since then.
   */
  suspectSince?: number;
  /**
   * Number of unreadable messages that were found so far. Each message is counted once. Of one contact, only about 20
   * are counted.
   */
  unreadable: number;
  /** Number of elements of the last contact list that could not be read as contacts. */
  unreadableContacts: number;
  detectionDelay: DetectionDelay;
  /** Number of contacts in each bucket of the message rate. Contacts that were never read are not counted. */
  rates: RateHistogram;
  /**
   * Minimum and maximum polling interval of a contact, from the settings of the worker that made the last
   * poll. Absent before the first poll.
   */
  interval?: IntervalBounds;
  /**
   * `waiting` is the number of reads of older messages that are due now. `lagMs` is how long the longest
   * overdue of these reads has been due, in milliseconds.
   */
  deep: { waiting: number; lagMs: number };
  /**
   * Number of messages that polls skipped so far, because upstream returns an error for every page that contains
   * them, or because they are too large. They are also counted in {@link unreadable}. The number is not exact: all
   * messages of one contact that are skipped for the same one of these reasons count as one.
   */
  skipped: number;
}
