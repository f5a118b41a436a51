import { type AbsenceResult, unconfirmedSuspectSince } from '../diff/absence.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState } from '../snapshot/contact-state.js';
import { mayFlagsStillChange, type KnownMessage } from '../snapshot/known-message.js';
import { messageFlagCheckIntervalMs } from './flag-check-interval.js';
import { hashAndJoinIds, type PollState } from '../snapshot/poll-state.js';
import type { FullRead, PagesRead } from '../walk/pages-read.js';

/**
 * Extra delay of the read that decides whether a missing message is deleted, in milliseconds. `missingSince`
 * is stored in whole seconds, rounded up. Without the extra delay, the read could come up to a second too
 * early to decide.
 */
const MISSING_SINCE_ROUNDING_MS = 1_000;

/**
 * Result of a read of a contact and the contact's state before the read. The {@link PollState} after the read is
 * computed from both.
 */
export interface PollStateInput {
  state: ContactState;
  /** True if the commit deletes all message snapshots of the contact. */
  deletesSnapshots: boolean;
  reading: PagesRead;
  /** `known`: message snapshots before the read. `next`: message snapshots that the read adds or changes. */
  known: ReadonlyMap<string, KnownMessage>;
  next: ReadonlyMap<string, KnownMessage>;
  absence: AbsenceResult | undefined;
  /** Hashes of the contact's unreadable elements; see `addUnreadableElementHashes`. */
  unreadable: string;
  /**
   * New revisions of the contact's messages are above this number, because lower revisions may belong to lost
   * changes. Undefined if the contact's snapshot was never lost.
   */
  revisionFloor: number | undefined;
  settings: Pick<FeedSettings, 'absenceMs' | 'settleMs'>;
}

/**
 * If a message is missing and the list has more unreadable elements than before, one of these elements may be
 * the message. All pages are then read again after this time, in milliseconds.
 */
const UNREADABLE_RECHECK_MS = 1_800_000;

/** Computes the state from which the contact's next reads are planned. Has no side effects. */
export function pollStateAfterRead(input: PollStateInput): PollState {
  const { state, deletesSnapshots, reading, known, next, absence, unreadable, revisionFloor } = input;
  const { pollState, now, epoch } = state;
  const added = [...next.keys()].filter((id) => !known.has(id)).length;
  const suspectSince = suspectSinceAfterRead(input);
  const completeDueAt = nextFullReadAt(input);
  const completeAt = reading.fullRead === undefined ? pollState.completeAt : now;
  const flagCheckDueAt = nextFlagCheckAt(input);
  const allThere = absence?.pending === false && absence.deleted.length === 0;
  const skipped = allThere ? reading.skipped : (pollState.skipped ?? 0);
  return {
    order: reading.order,
    pageSize: reading.pageSize,
    length: reading.length,
    ...(reading.limit === undefined ? {} : { limit: reading.limit }),
    ...(unreadable === '' ? {} : { unreadable }),
    ...(skipped === 0 ? {} : { skipped }),
    head: reading.head === undefined ? pollState.head : hashAndJoinIds(reading.head),
    count: (deletesSnapshots ? 0 : state.storedMessages) + added,
    ...(pollState.activity === undefined ? {} : { activity: pollState.activity }),
    ...(completeAt === undefined || deletesSnapshots ? {} : { completeAt }),
    ...(completeDueAt === undefined ? {} : { completeDueAt }),
    ...(flagCheckDueAt === undefined ? {} : { flagCheckDueAt }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(revisionFloor === undefined ? {} : { revisionFloor }),
    ...(suspectSince === undefined ? {} : { suspectSince }),
  };
}

/**
 * Returns when a read first found so many messages of the contact missing that an outage is likely, in
 * milliseconds since 1970. Undefined if no outage is likely.
 */
function suspectSinceAfterRead({ state, absence }: PollStateInput): number | undefined {
  const { pollState, now, deletionsConfirmedAt } = state;
  if (absence === undefined) return pollState.suspectSince;
  if (absence.suspected === 0) return undefined;
  return unconfirmedSuspectSince(pollState.suspectSince, deletionsConfirmedAt) ?? now;
}

/**
 * Returns when an extra read of all pages is due, in milliseconds since 1970. Undefined if the regular reads
 * of all pages are enough.
 */
function nextFullReadAt({ state, reading, absence, settings }: PollStateInput): number | undefined {
  const { pollState, now } = state;
  const { fullRead, needsFullRead } = reading;
  // The time of an earlier request for a read of all pages is overwritten. A read of all pages that is already
  // running finds the new time at its end, and so recognizes that another read was requested.
  if (needsFullRead) return now;
  if (fullRead === undefined) return pollState.completeDueAt;
  if (isRequestedDuring(fullRead, pollState.completeDueAt, now)) return pollState.completeDueAt;
  if (absence === undefined)
    return pollState.completeDueAt === undefined ? undefined : now + settings.absenceMs;
  if (!absence.pending) return undefined;
  const mayBeUnreadable = reading.skipped > (pollState.skipped ?? 0);
  return now + (mayBeUnreadable ? UNREADABLE_RECHECK_MS : settings.absenceMs + MISSING_SINCE_ROUNDING_MS);
}

/**
 * Returns true if a poll requested a read of all pages while `fullRead` ran. Pages that `fullRead` had already read
 * by then may have changed.
 * @param dueAt when the requested read is due; undefined if none is requested
 */
function isRequestedDuring(fullRead: FullRead, dueAt: number | undefined, now: number): boolean {
  return dueAt !== undefined && dueAt !== fullRead.dueAt && dueAt <= now;
}

/**
 * Returns the time of the next read of the messages whose flags may still change, in milliseconds since 1970.
 * Undefined if no such read is needed.
 */
function nextFlagCheckAt({
  state: { pollState, now },
  reading,
  known,
  next,
  settings,
}: PollStateInput): number | undefined {
  const upstreamNow = now + reading.upstreamAheadMs;
  const unsettled = [...new Map([...known, ...next])].filter(([, message]) =>
    mayFlagsStillChange(message, upstreamNow, settings.settleMs),
  );
  const waits = unsettled.map(([, { timestamp = upstreamNow }]) =>
    messageFlagCheckIntervalMs(upstreamNow - timestamp),
  );
  const due = waits.length === 0 ? undefined : now + Math.min(...waits);
  if (reading.unsettledRead || pollState.flagCheckDueAt === undefined) return due;
  return due === undefined ? pollState.flagCheckDueAt : Math.min(pollState.flagCheckDueAt, due);
}

/**
 * Returns the time until the next flag check of the contact's messages, in milliseconds. Returns Infinity if
 * no flag check is planned. Also returns Infinity if a flag check is already due: a deep read does that flag
 * check, so no poll is planned for it.
 */
export function msUntilNextFlagCheck({ flagCheckDueAt }: PollState, now: number): number {
  return flagCheckDueAt === undefined || flagCheckDueAt <= now ? Infinity : flagCheckDueAt - now;
}
