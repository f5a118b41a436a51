import { createHash } from 'node:crypto';
import type { PageOrder } from '../walk/page-order.js';
import { FAILING_MESSAGE_PLACEHOLDER, isPlaceholder } from '../walk/read-in-parts.js';

/**
 * What earlier polls have found out about a contact's list of messages. The next poll of the contact is planned from
 * this data. All times are in milliseconds since 1970, by Redis' clock.
 */
export interface PollState {
  order: PageOrder;
  /** Number of messages on the contact's longest page so far. */
  pageSize: number;
  /**
   * Number of messages in the contact's list at the last read of all pages. If the list is oldest first, each read
   * of the newest messages updates this number.
   */
  length: number;
  /**
   * Largest page limit that upstream is known to honour; 20 if upstream honours no larger limit. Absent while
   * unknown.
   */
  limit?: number;
  /**
   * Hashes of the contact's unreadable elements; see {@link addUnreadableElementHashes}. They ensure that
   * each element is logged and counted only once.
   */
  unreadable?: string;
  /**
   * Number of unreadable elements in the contact's list when a read of all pages last found every known message. If a
   * later read finds more unreadable elements, one of them may be a missing message.
   */
  skipped?: number;
  /** Hashes of the ids of the contact's newest messages (its head); see {@link hashAndJoinIds}. */
  head: string;
  /**
   * Data from which older builds of Tidings compute the contact's message rate. Kept for older builds that still run.
   */
  activity?: { weight: number; at: number };
  /** When all pages of the contact's messages were last read, in milliseconds since 1970 by Redis' clock. */
  completeAt?: number;
  /**
   * Time at which an extra read of all pages is due, in addition to the regular reads of all pages (sweeps). Present
   * if messages seem to be missing or are at unexpected positions, or if the last read of the newest messages may not
   * have found all new messages.
   */
  completeDueAt?: number;
  /**
   * Time at which the next flag check is due: a read of the messages whose flags (`delivered`, `read`) may still
   * change. Absent if there are no such messages.
   */
  flagCheckDueAt?: number;
  /** Number of known messages. If it is above 0 but no snapshots are stored, the snapshots were lost. */
  count: number;
  /** Random id (`epoch`) of the event log in which the contact's events are recorded; a new log gets another id. */
  epoch?: string;
  /**
   * When a read first found so many messages missing that an outage is likely. Absent if no outage is likely.
   */
  suspectSince?: number;
  /**
   * New revisions of the contact's messages are above this number, because lower revisions may belong to lost
   * changes. Absent if the contact's snapshot was never lost.
   */
  revisionFloor?: number;
}

/** State of a contact that has not been read yet. */
export const EMPTY_POLL_STATE: PollState = {
  order: 'unknown',
  pageSize: 0,
  length: 0,
  head: '',
  count: 0,
};

const ID_HASH_BYTES = 3;

/**
 * Maximum number of unreadable elements per contact whose hashes are stored. Further unreadable elements are not
 * counted. Exception: the placeholders for messages that upstream fails to return, or that are too large, are always
 * stored.
 */
const MAX_UNREADABLE = 20;

/**
 * Adds the hashes of a contact's unreadable elements to the hashes that are already stored for the contact.
 * @returns the number of hashes that were added, and all hashes
 */
export function addUnreadableElementHashes(
  before: string | undefined,
  elements: readonly string[],
): { added: number; hashes: string } {
  const known = Buffer.from(before ?? '', 'base64');
  const marks = new Set<string>();
  for (let at = 0; at < known.length; at += ID_HASH_BYTES) {
    marks.add(known.toString('base64', at, at + ID_HASH_BYTES));
  }
  const remembered = marks.size;
  for (const element of elements)
    if (marks.size < MAX_UNREADABLE || isPlaceholder(element)) marks.add(hashAndJoinIds([element]));
  return { added: marks.size - remembered, hashes: [...marks].join('') };
}

/**
 * Returns true if an earlier read left out a message of the contact, because every request for the message failed.
 */
export function hasPermanentlyUnreadableMessage({ unreadable = '' }: Pick<PollState, 'unreadable'>): boolean {
  return splitIdHashes(unreadable).includes(hashAndJoinIds([FAILING_MESSAGE_PLACEHOLDER]));
}

/** Splits the result of {@link hashAndJoinIds} into the hashes of single ids. */
export function splitIdHashes(hashes: string): string[] {
  const bytes = Buffer.from(hashes, 'base64');
  return Array.from({ length: bytes.length / ID_HASH_BYTES }, (_, n) =>
    bytes.toString('base64', n * ID_HASH_BYTES, (n + 1) * ID_HASH_BYTES),
  );
}

/** Returns a short hash of each id, all in one string. The hashes show later which ids are missing. */
export function hashAndJoinIds(ids: readonly string[]): string {
  const hashes = ids.map((id) => createHash('sha1').update(id).digest().subarray(0, ID_HASH_BYTES));
  return Buffer.concat(hashes).toString('base64');
}
