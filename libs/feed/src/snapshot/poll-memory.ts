import { createHash } from 'node:crypto';
import type { PageOrder } from '../walk/page-order.js';

/** State of a contact's reads, from which the next read is planned. Times are milliseconds since 1970 by Redis' clock. */
export interface PollMemory {
  order: PageOrder;
  /** Number of messages on the contact's longest page; then the number of all messages of an oldest-first list. */
  pageSize: number;
  length: number;
  /** Page limit that upstream honours in deep reads; absent while unknown. */
  limit?: number;
  /** Marks of unreadable elements (see {@link markUnreadable}), so that each is logged and counted once. */
  unreadable?: string;
  /** Number of unreadable elements in the last complete read without missing messages. More may hide missing ones. */
  skipped?: number;
  /** Marks of the ids at the end of the list where new messages appear; see {@link headMark}. */
  head: string;
  /** Rate of change as older builds stored it; kept for older builds that still run. */
  activity?: { weight: number; at: number };
  /** Time of the last deep read of all messages. */
  completeAt?: number;
  /** Time of an extra deep read of all messages before the next sweep; present if messages seem to be missing. */
  completeDueAt?: number;
  /** Time of the next look-up of unsettled messages. */
  lookDueAt?: number;
  /** Number of known messages, by which a loss of their snapshots is detected. */
  count: number;
  /** Epoch of the event log that contains the contact's events. */
  epoch?: string;
  /** Time since which so many messages are missing that an outage is likely. */
  suspectSince?: number;
  /** New revisions must be higher, since snapshots of the contact were lost. */
  revisionFloor?: number;
}

/** State before the first read. */
export const NOTHING_REMEMBERED: PollMemory = {
  order: 'unknown',
  pageSize: 0,
  length: 0,
  head: '',
  count: 0,
};

const MARK_BYTES = 3;

/** Maximum number of unreadable elements per contact that are distinguished. */
const MAX_UNREADABLE = 20;

/** Adds unreadable elements to the stored marks. Returns the number of new ones and all marks. */
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
  for (const element of elements) if (marks.size < MAX_UNREADABLE) marks.add(headMark([element]));
  return { fresh: marks.size - remembered, marks: [...marks].join('') };
}

/** Splits a {@link headMark} into the marks of single ids. */
export function splitMarks(marks: string): string[] {
  const bytes = Buffer.from(marks, 'base64');
  return Array.from({ length: bytes.length / MARK_BYTES }, (_, n) =>
    bytes.toString('base64', n * MARK_BYTES, (n + 1) * MARK_BYTES),
  );
}

/** Returns the ids as a list of short hashes, in which a missing id can be detected. */
export function headMark(ids: readonly string[]): string {
  const marks = ids.map((id) => createHash('sha1').update(id).digest().subarray(0, MARK_BYTES));
  return Buffer.concat(marks).toString('base64');
}
