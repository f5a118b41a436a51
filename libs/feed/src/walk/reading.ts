import type { UpstreamMessage } from '#upstream';
import type { PageOrder } from './page-order.js';

/** A stretch of a contact's messages as it was read, to be compared with what is known and committed. */
export interface Reading {
  /** Each message once, in its latest form, in the order of service. */
  served: readonly UpstreamMessage[];
  /** The order that the list is believed to be in. */
  order: PageOrder;
  /** What stands where new messages will appear next, in its order; absent where that was not read. */
  head?: readonly string[];
  /** How many messages the list holds; where the oldest come first, from this place on new ones appear. */
  length: number;
  /** The longest page that upstream has shown. */
  pageSize: number;
  /** The longest page of this read, whatever limit it was asked for with. */
  longestPage: number;
  /** The limit above 20 that upstream honours, or 20 if it honours none; absent while that is not known. */
  limit?: number;
  /** The size of the first page, where a full one could not be read. */
  headLimit?: number;
  /** How many elements could not be read. */
  skipped: number;
  /** What tells them apart, one a different element. */
  unreadable: readonly string[];
  /** Upstream's clock, in milliseconds since 1970, if it said so. */
  date?: number;
  /** Present where it ends a reading of everything. */
  everything?: Everything;
  /** Whether it shows what the last reading showed, too: from that it is learned which fields are volatile. */
  learns: boolean;
  /** Whether all messages whose flags may still change were looked up. */
  looked: boolean;
  /** Whether it shows that everything is to be read: something is missing, or stands where it is not looked for. */
  needsEverything: boolean;
}

/** What a reading of everything showed, from its first page to its last. */
export interface Everything {
  /** The ids of what it showed. */
  seen: ReadonlySet<string>;
  /** The ids that were known before it began: only these can be missing. */
  knownBefore: ReadonlySet<string>;
  /** Whether it was read without anything moving from page to page: what it does not show is not there. */
  stable: boolean;
}
