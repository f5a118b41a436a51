import type { NewEvent } from '#events';
import { eventSubjectOfMessage } from './diff.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { BoundSend } from '../ports.js';

/** What a read of all pages of a contact returned, and the stored messages to compare it with. */
export interface AbsenceInput {
  contactId: string;
  /**
   * Snapshots of the known messages of the contact, by message id. A message that became known during the read of all
   * pages is included only if the read returned it.
   */
  known: ReadonlyMap<string, KnownMessage>;
  /** Ids of the messages that the read of all pages returned. */
  seen: Pick<ReadonlySet<string>, 'has' | 'size'>;
  /** When the read of all pages began, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** Current time by Redis' clock, in milliseconds since 1970. */
  now: number;
  /** New revisions are above this number, because lower revisions may belong to lost events. */
  revisionFloor: number;
  /**
   * A message counts as deleted if two reads of all pages do not contain it. This is the minimum time from the end of
   * the first read to the beginning of the second read, in milliseconds.
   */
  minApartMs: number;
  /**
   * When an administrator last confirmed deletions, in milliseconds since 1970 by Redis' clock; 0 if never. The
   * messages that were missing at that time do not suggest an outage, however many they are.
   */
  deletionsConfirmedAt: number;
  /** True if other reads of the account suggest an outage: then no missing message counts as deleted. */
  isOutageLikely: boolean;
  /**
   * Time since which so many messages of the contact have been missing that an outage is likely, in milliseconds
   * since 1970 by Redis' clock. Absent if no outage is likely, or if an administrator has confirmed deletions since
   * then.
   */
  suspectSince?: number;
  /**
   * True if the missing messages may be among the elements that could not be read: then no message counts as
   * missing.
   */
  mayBeUnreadable: boolean;
  /**
   * Latest time at which upstream is known to have had no outage, in milliseconds since 1970 by Redis' clock: the
   * time at which upstream last returned a message of any contact of the account, or at which an administrator last
   * confirmed deletions. Present only if the read of all pages returned no message, and the account has several
   * contacts. In that case, a message that went missing after `lastShownAt` does not count as deleted.
   */
  lastShownAt?: number;
}

/** A deleted message, with its revisions before and after the deletion. */
export interface DeletedMessage {
  id: string;
  revisionBefore: number;
  revision: number;
}

/** Decision about the known messages that a read of all pages did not return. */
export interface AbsenceResult {
  /**
   * New snapshots of the messages that became missing or deleted, or whose `missingSince` was set again after a
   * suspected outage, by message id.
   */
  known: Map<string, KnownMessage>;
  /** Deleted messages. */
  deleted: DeletedMessage[];
  /** Number of missing messages if this read suggests an outage; otherwise 0. */
  suspected: number;
  /** True if only a later read of all pages can decide whether some missing messages were deleted. */
  pending: boolean;
}

/** If at most this many messages or contacts are missing, their number does not suggest an outage. */
const MAX_FEW_MISSING = 10;
/**
 * If more than {@link MAX_FEW_MISSING} messages or contacts are missing, and they are more than this share of
 * all, their number suggests an outage.
 */
const MAX_MISSING_SHARE = 1 / 5;

/**
 * Time for which an account counts as suspect after a read found too many messages or contacts missing, in
 * milliseconds. During this time no further `account.suspect` event is emitted, because the reads of several
 * contacts notice the same outage one after another.
 */
const SUSPICION_MS = 600_000;

/**
 * Returns true while the account counts as suspect.
 * @param suspectAt when a read last found too many messages or contacts missing, in milliseconds since 1970
 * by Redis' clock
 */
export function isAccountSuspect(suspectAt: number, now: number): boolean {
  return now - suspectAt < SUSPICION_MS;
}

/**
 * Returns the event that reports that the account is suspect; undefined if the account already counts as suspect.
 * @param suspectAt when a read last found too many messages or contacts missing, in milliseconds since 1970 by Redis'
 * clock; undefined if never
 */
export function createAccountSuspectEvent(
  now: number,
  suspectAt: number | undefined,
  data: { reason: string; count: number; contactId?: string },
): NewEvent | undefined {
  if (isAccountSuspect(suspectAt ?? 0, now)) return undefined;
  // If two workers emit the event at the same time, both events have the same revision and therefore the same
  // id. The log records only one of them.
  return { type: 'account.suspect', subject: 'suspect', revision: `after:${suspectAt ?? 0}`, data };
}

/**
 * Checks the known messages that a read of all pages did not return, and decides which of them count as
 * missing and which count as deleted. Has no side effects.
 */
export function classifyMissingMessages(input: AbsenceInput): AbsenceResult {
  const present = [...input.known].filter(([, { deleted }]) => !deleted);
  const missing = present.filter(([id]) => !input.seen.has(id));
  const tooMany = areTooManyElementsMissing(
    missing.map(([, message]) => message),
    present.length,
    input.deletionsConfirmedAt,
  );
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
    } else if (tooMany || input.isOutageLikely) {
      waiting += 1;
    } else if (wentMissingInSuspectedOutage(before, input.suspectSince)) {
      result.known.set(id, { ...before, missingSince: input.now });
      waiting += 1;
    } else if (input.startedAt - before.missingSince < input.minApartMs) {
      waiting += 1;
    } else if (before.missingSince > lastShownAt) {
      // Since the message went missing, upstream has returned no message of any contact. An outage is more
      // likely than a deletion.
      result.suspected = missing.length;
      waiting += 1;
    } else {
      const revision = Math.max(before.revision, input.revisionFloor) + 1;
      result.known.set(id, { ...withoutMissingSince(before), deleted: true, revision });
      result.deleted.push({ id, revisionBefore: before.revision, revision });
    }
  }
  return { ...result, pending: waiting > 0 };
}

/**
 * Returns true if an element went missing during a suspected outage. If the element is still missing when the
 * suspicion ends, it counts as missing only from then on, because upstream may recover in steps.
 * @param suspectSince start of the suspicion, in milliseconds since 1970 by Redis' clock; undefined if there was
 * none, or if an administrator has confirmed deletions since then
 */
export function wentMissingInSuspectedOutage(
  { missingSince = -Infinity }: { missingSince?: number },
  suspectSince: number | undefined,
): boolean {
  return suspectSince !== undefined && missingSince >= suspectSince;
}

/**
 * Returns true if so many elements are missing that an outage is more likely than deletions. Elements that were
 * already missing when an administrator confirmed deletions are not counted, even if they do not count as deleted
 * yet.
 * @param missing snapshots of the missing elements
 * @param total number of elements that are not deleted, including the missing ones
 * @param deletionsConfirmedAt when deletions were last confirmed, in milliseconds since 1970 by Redis' clock
 */
export function areTooManyElementsMissing(
  missing: readonly { missingSince?: number }[],
  total: number,
  deletionsConfirmedAt = 0,
): boolean {
  const confirmed = missing.filter(
    ({ missingSince = Infinity }) => missingSince <= deletionsConfirmedAt,
  ).length;
  return isOutageMoreLikelyThanDeletions(missing.length - confirmed, total - confirmed);
}

/**
 * Returns `suspectSince`, or undefined if an administrator has confirmed deletions since then.
 * @param suspectSince time since which too many elements have been missing, in milliseconds since 1970 by Redis'
 * clock; undefined if not too many are missing
 * @param deletionsConfirmedAt when deletions were last confirmed, in milliseconds since 1970 by Redis' clock
 */
export function unconfirmedSuspectSince(
  suspectSince: number | undefined,
  deletionsConfirmedAt = 0,
): number | undefined {
  return suspectSince !== undefined && suspectSince > deletionsConfirmedAt ? suspectSince : undefined;
}

/** Returns true if so many elements are missing that an outage is more likely than deletions. */
export function isOutageMoreLikelyThanDeletions(missing: number, total: number): boolean {
  return missing > MAX_FEW_MISSING && missing > total * MAX_MISSING_SHARE;
}

/**
 * `DELETION_EVENT_CHANGES` is the value of `changes` in an event that reports a deletion.
 * `REAPPEARANCE_EVENT_CHANGES` is the value of `changes` in an event that reports that a deleted message or contact
 * has reappeared.
 */
export const DELETION_EVENT_CHANGES = { deleted: { from: false, to: true } };
export const REAPPEARANCE_EVENT_CHANGES = { deleted: { from: true, to: false } };

/**
 * Returns the event that reports the deletion of a message.
 * @param last the message as in its last recorded event; undefined if the log no longer contains that event. The
 * event of the deletion then contains only the id of the message.
 * @param send the send that the message belongs to, if any
 */
export function createMessageDeletionEvent(
  contactId: string,
  { id, revision }: DeletedMessage,
  last: Readonly<Record<string, unknown>> | undefined,
  send: BoundSend | undefined,
): NewEvent {
  const { trace, ...ours } = send ?? {};
  return {
    type: 'message.deleted',
    contactId,
    subject: eventSubjectOfMessage(contactId, id),
    revision,
    data: { contactId, message: last ?? { id }, ...ours, changes: DELETION_EVENT_CHANGES },
    ...(trace === undefined ? {} : { trace }),
  };
}

function withoutMissingSince(known: KnownMessage): KnownMessage {
  const rest = { ...known };
  delete rest.missingSince;
  return rest;
}
