import type { IntervalBounds } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';

/** How late the account's new messages were emitted within the last hour. */
export interface DetectionDelay {
  /** From a message's timestamp to the commit of its event, in milliseconds; absent where there was no message. */
  p50Ms?: number;
  p95Ms?: number;
  /** How many messages these are of. */
  count: number;
  /** Of how many of them the delay is estimated from the schedule, for want of a usable timestamp. */
  estimated: number;
  /** How many more were older than a day when upstream first showed them. */
  late: number;
}

/** Why the contact list cannot be read. */
export interface ListFault {
  /** For people; without upstream's own words. */
  reason: string;
  /** Since when no reading came to a good end, in milliseconds since 1970 by Redis' clock. */
  since: number;
}

/** How the polling of an account stands. */
export interface FeedOverview {
  /** How many contacts are polled. */
  contacts: number;
  /** How many of them are due, and for how long the first has been, in milliseconds. */
  due: number;
  lagMs: number;
  /** When the contact list was last read in full, on upstream's clock. */
  listedAt?: number;
  /** Why it could not be read since; absent while it can. */
  listFault?: ListFault;
  /** Since when upstream shows far less than before, by Redis' clock. */
  suspectSince?: number;
  /** How many unreadable elements were met so far. */
  unreadable: number;
  detectionDelay: DetectionDelay;
  /** How many contacts change how often, by the buckets of the schedule; those that were never read are missing. */
  rates: RateHistogram;
  /** The bounds of a contact's interval that the workers last went by; absent before the first poll. */
  interval?: IntervalBounds;
  /** Reads beyond the head of a contact: how many are due, and for how long the first has been, in milliseconds. */
  deep: { waiting: number; lagMs: number };
  /** How many elements were given up so far, as no page that holds them can be read. */
  skipped: number;
}
