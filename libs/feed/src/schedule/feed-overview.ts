import type { IntervalBounds } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';

/** Detection delay of the account's new messages within the last hour. */
export interface DetectionDelay {
  /** Time from a message's timestamp to the commit of its event, in milliseconds; absent without messages. */
  p50Ms?: number;
  p95Ms?: number;
  /** Number of messages measured. */
  count: number;
  /** Number of these messages without a usable timestamp; their delay is estimated from the schedule. */
  estimated: number;
  /** Number of further messages that were more than a day old when upstream first showed them. */
  late: number;
}

/** Why and since when the contact list cannot be read. */
export interface ListFault {
  /** Reason for humans; does not quote upstream. */
  reason: string;
  /** Time since which every read of the list failed, in milliseconds since 1970 by Redis' clock. */
  since: number;
}

/** State of an account's polling. */
export interface FeedOverview {
  /** Number of polled contacts. */
  contacts: number;
  /** Number of due contacts, and time that the first of them has been overdue, in milliseconds. */
  due: number;
  lagMs: number;
  /** Time of the last complete read of the contact list, by upstream's clock. */
  listedAt?: number;
  /** Present while the contact list cannot be read. */
  listFault?: ListFault;
  /** Time since which upstream shows far less than before, by Redis' clock. */
  suspectSince?: number;
  /** Number of unreadable elements so far. */
  unreadable: number;
  detectionDelay: DetectionDelay;
  /** Number of contacts in each bucket of the rate of change; contacts that were never read are left out. */
  rates: RateHistogram;
  /** Bounds of a contact's polling interval that the workers last used; absent before the first poll. */
  interval?: IntervalBounds;
  /** Number of due reads of older messages, and time that the first of them has been overdue, in milliseconds. */
  deep: { waiting: number; lagMs: number };
  /** Number of elements skipped so far because no page that contains them can be read. */
  skipped: number;
}
