import { createHash } from 'node:crypto';
import type { ActivityRate } from './adaptive-interval.js';
import type { PageOrder } from './page-order.js';

/** What is remembered of how a contact is read. Times are milliseconds since 1970 by Redis' clock. */
export interface PollMemory {
  order: PageOrder;
  /** The longest page seen, and how many messages there were where the oldest come first. */
  pageSize: number;
  length: number;
  /** The ids where new messages appear, as {@link headMark} has them. */
  head: string;
  activity?: ActivityRate;
  /** When everything was last read. */
  completeAt?: number;
  /** When everything is to be read again, before the sweep is due: something looks missing. */
  completeDueAt?: number;
  /** When unsettled messages are to be looked up again. */
  lookDueAt?: number;
  /** Of the known messages: whether their loss can be noticed. */
  count: number;
  /** The epoch of the log that its events are in. */
  epoch?: string;
  /** Since when too many messages are missing to be believed. */
  suspectSince?: number;
}

/** Before the first read. */
export const NOTHING_REMEMBERED: PollMemory = {
  order: 'unknown',
  pageSize: 0,
  length: 0,
  head: '',
  count: 0,
};

const MARK_BYTES = 3;

/** Ids in their order, each by a few bits of its hash: whether one is missing among the others can be told from that. */
export function headMark(ids: readonly string[]): string {
  const marks = ids.map((id) => createHash('sha1').update(id).digest().subarray(0, MARK_BYTES));
  return Buffer.concat(marks).toString('base64');
}
