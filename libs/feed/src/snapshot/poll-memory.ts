import { createHash } from 'node:crypto';
import type { PageOrder } from '../walk/page-order.js';

/**
 * State of a contact's reads, from which the next read is planned. Times are milliseconds since 1970 by Redis'
 * clock.
 */
export interface PollMemory {
  order: PageOrder;
  /** Number of messages on the contact's longest page. */
  pageSize: number;
  /**
   * Number of messages at the last complete read; in an oldest-first list, at the last read of the newest
   * messages.
   */
  length: number;
  /** Page limit that upstream honours in reads of older messages; absent while unknown. */
  limit?: number;
  /** Hashes of unreadable elements (see {@link addUnreadable}), so that each is logged and counted once. */
  unreadable?: string;
  /**
   * Number of unreadable elements in the last complete read without missing messages. More may hide missing
   * ones.
   */
  skipped?: number;
  /** Hashes of the ids at the end of the list where new messages appear; see {@link hashIds}. */
  head: string;
  /** Rate of change as older builds stored it; kept for older builds that still run. */
  activity?: { weight: number; at: number };
  /** Time of the last read of all pages. */
  completeAt?: number;
  /**
   * Time of an extra read of all pages before the next sweep; present if messages seem to be missing.
   */
  completeDueAt?: number;
  /** When the flags of unsettled messages are next read again. A message is unsettled while its flags may still change. */
  lookUpDueAt?: number;
  /** Number of known messages, by which a loss of their snapshots is detected. */
  count: number;
  /** Epoch of the event log that contains the contact's events. */
  epoch?: string;
  /** Time since which so many messages are missing that an outage is likely. */
  suspectSince?: number;
  /** Lower bound of new event revisions; present if snapshots of the contact were lost. */
  revisionFloor?: number;
}

/** State before the first read. */
export const EMPTY_POLL_MEMORY: PollMemory = {
  order: 'unknown',
  pageSize: 0,
  length: 0,
  head: '',
  count: 0,
};

const ID_HASH_BYTES = 3;

/** Maximum number of unreadable elements per contact that are distinguished. */
const MAX_UNREADABLE = 20;

/** Adds unreadable elements to the stored hashes. Returns the number of new elements and all hashes. */
export function addUnreadable(
  before: string | undefined,
  elements: readonly string[],
): { added: number; hashes: string } {
  const known = Buffer.from(before ?? '', 'base64');
  const marks = new Set<string>();
  for (let at = 0; at < known.length; at += ID_HASH_BYTES) {
    marks.add(known.toString('base64', at, at + ID_HASH_BYTES));
  }
  const remembered = marks.size;
  for (const element of elements) if (marks.size < MAX_UNREADABLE) marks.add(hashIds([element]));
  return { added: marks.size - remembered, hashes: [...marks].join('') };
}

/** Splits the result of {@link hashIds} into the hashes of single ids. */
export function splitIdHashes(hashes: string): string[] {
  const bytes = Buffer.from(hashes, 'base64');
  return Array.from({ length: bytes.length / ID_HASH_BYTES }, (_, n) =>
    bytes.toString('base64', n * ID_HASH_BYTES, (n + 1) * ID_HASH_BYTES),
  );
}

/** Returns the ids as a list of short hashes, in which a missing id can be detected. */
export function hashIds(ids: readonly string[]): string {
  const hashes = ids.map((id) => createHash('sha1').update(id).digest().subarray(0, ID_HASH_BYTES));
  return Buffer.concat(hashes).toString('base64');
}
