import { createHash } from 'node:crypto';
import type { PageOrder } from '../walk/page-order.js';

/** What is remembered of how a contact is read. Times are milliseconds since 1970 by Redis' clock. */
export interface PollMemory {
  order: PageOrder;
  /** The longest page seen, and how many messages there were where the oldest come first. */
  pageSize: number;
  length: number;
  /** The limit that upstream honours where everything is read; absent while that is not known. */
  limit?: number;
  /** What could not be read, as {@link headMark} has it, up to a number: so that each is logged and counted once. */
  unreadable?: string;
  /** How many elements a complete read could not read when nothing was missing, if any: more may hide what is. */
  skipped?: number;
  /** The ids where new messages appear, as {@link headMark} has them. */
  head: string;
  /** As earlier builds wrote it, who scheduled by it; kept while they may run side by side. */
  activity?: { weight: number; at: number };
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
  /** Above which the revisions of its messages go on, since what was known of them was forgotten. */
  revisionFloor?: number;
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

/** So many different unreadable elements of a contact are told apart. */
const MOST_UNREADABLE = 20;

/** The unreadable elements that are new beside those that are remembered, and what is to be remembered of all. */
export function markUnreadable(
  before: string | undefined,
  elements: readonly string[],
): { fresh: number; marks: string } {
  const known = Buffer.from(before ?? '', 'base64');
  const marks = new Set<string>();
  for (let at = 0; at < known.length; at += MARK_BYTES) {
    marks.add(known.toString('base64', at, at + MARK_BYTES));
  }
  const remembered = marks.size;
  for (const element of elements) if (marks.size < MOST_UNREADABLE) marks.add(headMark([element]));
  return { fresh: marks.size - remembered, marks: [...marks].join('') };
}

/** The marks of single ids in a {@link headMark}. */
export function splitMarks(marks: string): string[] {
  const bytes = Buffer.from(marks, 'base64');
  return Array.from({ length: bytes.length / MARK_BYTES }, (_, n) =>
    bytes.toString('base64', n * MARK_BYTES, (n + 1) * MARK_BYTES),
  );
}

/** Ids in their order, each by a few bits of its hash: whether one is missing among the others can be told from that. */
export function headMark(ids: readonly string[]): string {
  const marks = ids.map((id) => createHash('sha1').update(id).digest().subarray(0, MARK_BYTES));
  return Buffer.concat(marks).toString('base64');
}
