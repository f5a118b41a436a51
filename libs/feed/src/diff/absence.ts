import type { NewEvent } from '#events';
import { eventSubjectOfMessage } from './diff.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { BoundSend } from '../ports.js';

/** Result of a complete read of a contact, and the snapshots to compare the read with. */
export interface AbsenceInput {
  contactId: string;
  /** Snapshots of all known messages of the contact. */
  known: ReadonlyMap<string, KnownMessage>;
  /** Ids of the messages that the read returned. */
  seen: ReadonlySet<string>;
  /** Current time by Redis' clock, in milliseconds since 1970. */
  now: number;
  /** Minimum time between the two complete reads without a message that a deletion needs, in milliseconds. */
  minApartMs: number;
  /** True if an administrator confirmed deletions: then any number of missing messages counts as deleted. */
  areDeletionsConfirmed: boolean;
  /** True if the whole account looks like an outage: then no missing message counts as deleted. */
  isOutageLikely: boolean;
  /** True if unreadable elements of the read may be the missing messages: then no message counts as missing. */
  mayBeUnreadable: boolean;
  /**
   * Present if the read returned no message at all: last time at which upstream returned a message of any
   * contact, by Redis' clock. Then only messages missing since before this time count as deleted.
   */
  lastShownAt?: number;
}

/** Decision about the missing messages. */
export interface AbsenceResult {
  /** Snapshots that change: of messages that are newly missing or deleted. */
  known: Map<string, KnownMessage>;
  /** Deleted messages, with the revision before the deletion. */
  deleted: { id: string; revision: number }[];
  /** Number of missing messages if an outage is more likely than deletions, else 0. */
  suspected: number;
  /** True if a later complete read decides about some missing messages. */
  pending: boolean;
}

/** Up to this number of missing messages or contacts never suggests an outage. */
const MAX_FEW_MISSING = 10;
/**
 * Above {@link MAX_FEW_MISSING}, a share of missing messages or contacts up to this one does not suggest an
 * outage either.
 */
const MAX_MISSING_SHARE = 1 / 5;

/**
 * Minimum time between two `account.suspect` events, in milliseconds. An outage is noticed contact by contact,
 * and all these findings belong to one suspicion.
 */
const SUSPICION_MS = 600_000;

/**
 * Returns true while the account counts as suspect.
 * @param suspectAt time at which a read last found too much missing, by Redis' clock
 */
export function isAccountSuspect(suspectAt: number, now: number): boolean {
  return now - suspectAt < SUSPICION_MS;
}

/**
 * Returns the event of a new suspicion; undefined if the suspicion was emitted before.
 * @param suspectAt time at which a read last found too much missing, by Redis' clock
 */
export function suspectEvent(
  now: number,
  suspectAt: number | undefined,
  data: { reason: string; count: number; contactId?: string },
): NewEvent | undefined {
  if (isAccountSuspect(suspectAt ?? 0, now)) return undefined;
  // Two workers that notice the outage at the same time use the same revision, so that the log keeps only one
  // event.
  return { type: 'account.suspect', subject: 'suspect', revision: `after:${suspectAt ?? 0}`, data };
}

/** Decides about the known messages that a complete read did not return. Pure. */
export function decideAbsences(input: AbsenceInput): AbsenceResult {
  const present = [...input.known].filter(([, { deleted }]) => !deleted);
  const missing = present.filter(([id]) => !input.seen.has(id));
  const tooMany = suggestsOutage(missing.length, present.length) && !input.areDeletionsConfirmed;
  const { lastShownAt = Infinity } = input;
  const result: AbsenceResult = {
    known: new Map(),
    deleted: [],
    suspected: tooMany ? missing.length : 0,
    pending: missing.length > 0,
  };
  let waiting = 0;
  for (const [id, before] of missing) {
    if (input.mayBeUnreadable) {
      waiting += 1;
    } else if (before.missingSince === undefined) {
      result.known.set(id, { ...before, missingSince: input.now });
      waiting += 1;
    } else if (tooMany || input.isOutageLikely || input.now - before.missingSince < input.minApartMs) {
      waiting += 1;
    } else if (before.missingSince > lastShownAt) {
      // No other contact shows messages either: an outage is more likely than a deletion.
      result.suspected = missing.length;
      waiting += 1;
    } else {
      result.known.set(id, { ...withoutMissingSince(before), deleted: true, revision: before.revision + 1 });
      result.deleted.push({ id, revision: before.revision });
    }
  }
  return { ...result, pending: waiting > 0 };
}

/** Returns true if the number of missing elements suggests an outage rather than deletions. */
export function suggestsOutage(missing: number, total: number): boolean {
  return missing > MAX_FEW_MISSING && missing > total * MAX_MISSING_SHARE;
}

/** `changes` of the events for a deletion and for a return. */
export const DELETED_CHANGES = { deleted: { from: false, to: true } };
export const RETURNED_CHANGES = { deleted: { from: true, to: false } };

/**
 * Returns the event of a deletion.
 * @param last last recorded form of the message, if the log still keeps it
 * @param send the send that the message belongs to, if any
 */
export function deletionEvent(
  contactId: string,
  { id, revision }: { id: string; revision: number },
  last: Readonly<Record<string, unknown>> | undefined,
  send: BoundSend | undefined,
): NewEvent {
  return {
    type: 'message.deleted',
    contactId,
    subject: eventSubjectOfMessage(contactId, id),
    revision: revision + 1,
    data: { contactId, message: last ?? { id }, ...send, changes: DELETED_CHANGES },
  };
}

/** Returns the snapshot without the time since which the message is missing. */
function withoutMissingSince(known: KnownMessage): KnownMessage {
  const rest = { ...known };
  delete rest.missingSince;
  return rest;
}
