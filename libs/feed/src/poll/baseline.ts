import type { NewEvent } from '#events';
import type { FirstReadEventRule } from '../diff/first-read.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { FeedSettings } from './feed-settings.js';
import type { PollCommit } from './poll-commit.js';
import { MESSAGES_REPLACED_REASON, type PollStart } from './poll-start.js';

/**
 * Returns which messages emit events until all pages of the contact have been read once since it became known, or
 * since its latest new baseline. Undefined after that: all new messages then emit events.
 * @param undatedAtFirstRead which messages without a timestamp emit events at a contact's first read; see
 * `FeedSettings.undated`
 */
export function eventRuleOfFirstRead(
  { state, resync }: PollStart,
  reading: PagesRead,
  undatedAtFirstRead: FeedSettings['undated'],
): FirstReadEventRule | undefined {
  if (resync !== undefined) {
    const emitAfter = resync === MESSAGES_REPLACED_REASON ? lastReadAtByUpstream(state, reading) : undefined;
    // A new baseline usually emits no events for messages, because the same events may have been emitted before. If
    // `emitAfter` is set, events are emitted for messages whose timestamp is later than `emitAfter`.
    return emitAfter === undefined ? 'silent' : { emitAfter, undated: 'silent', areSendsDated: true };
  }
  if (state.emitAfter === undefined) return undefined;
  const undated = state.extension.resyncing === true ? 'silent' : undatedAtFirstRead;
  return { emitAfter: state.emitAfter, undated };
}

/**
 * Returns how the commit changes the baseline of the contact. `{ emitAfter }`: starts a new baseline, which contains
 * the messages up to this time. `over`: completes the baseline, because all pages were read. `unchanged`: neither.
 */
export function baselineAfter({ state, resync }: PollStart, reading: PagesRead): PollCommit['baseline'] {
  const { fullRead, date, firstDate = date } = reading;
  if (resync === MESSAGES_REPLACED_REASON) {
    const emitAfter = lastReadAtByUpstream(state, reading);
    if (emitAfter !== undefined) return { emitAfter };
  }
  // Upstream rounds the time in its `Date` header down to a second, so the actual time may be almost a second
  // later. The baseline includes messages up to the actual time.
  if (resync !== undefined) return { emitAfter: (firstDate ?? state.now) + 1_000 };
  return fullRead === undefined ? 'unchanged' : 'over';
}

/**
 * Tolerance for comparing the result of {@link lastReadAtByUpstream} with timestamps of messages, in milliseconds.
 * Upstream may round the timestamps and the time in its `Date` header down to a second.
 */
const TIMESTAMP_TOLERANCE_MS = 1_000;

/**
 * Returns the time of the last read of the newest messages, less a tolerance, in milliseconds since 1970 by
 * upstream's clock; undefined if there was no such read. If upstream returns none of the known messages, for
 * example because a conversation was deleted, only messages with a timestamp after the returned time count as new.
 */
function lastReadAtByUpstream(
  { extension: { readAt } }: PollStart['state'],
  { upstreamAheadMs }: PagesRead,
): number | undefined {
  return readAt === undefined ? undefined : readAt + upstreamAheadMs - TIMESTAMP_TOLERANCE_MS;
}

/** Assumed maximum number of changes of one message between two losses of the contact's snapshot. */
const MAX_REVISIONS_BETWEEN_LOSSES = 1_000;

/**
 * Returns a number above all revisions that the contact's messages had before a loss of stored state. Later
 * changes get revisions above this number. Otherwise, two events of a message could have the same id, and the
 * event log would drop the second one.
 *
 * The Unix time in seconds is high enough, because a message has less than one event per second on average.
 * If losses follow each other closely, the result is {@link MAX_REVISIONS_BETWEEN_LOSSES} above the
 * result after the previous loss.
 */
export function revisionFloorAfterLoss({ now, pollState }: ContactState): number {
  return Math.max(Math.floor(now / 1_000), (pollState.revisionFloor ?? 0) + MAX_REVISIONS_BETWEEN_LOSSES);
}

/** Returns the event that says that a new baseline of the contact starts. */
export function resyncEvent(contactId: string, { version }: ContactState, reason: string): NewEvent {
  return {
    type: 'contact.resynced',
    contactId,
    subject: `resync:${contactId}`,
    revision: version + 1,
    data: { contactId, reason },
  };
}
