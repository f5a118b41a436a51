import type { Direction } from '#upstream';
import type { Fingerprint } from '../form/fingerprint.js';

/**
 * Snapshot of a message. It suffices to detect the next change of the message, but does not contain the text
 * of the message.
 */
export interface KnownMessage {
  direction: Direction;
  delivered: boolean;
  read: boolean;
  /**
   * True if `message.delivered` was emitted, or must not be emitted because the flag was already set when the
   * message was first read.
   */
  deliveredEmitted: boolean;
  /** The same for `message.read`. */
  readEmitted: boolean;
  fingerprint: Fingerprint;
  /**
   * Revision of the message when its last event was recorded. If it has no event yet, a number below the revision of
   * its first event.
   */
  revision: number;
  /**
   * Timestamp of the message by upstream's clock, in milliseconds since 1970. Redis stores it rounded down to whole
   * minutes. Absent if the timestamp is missing or unreadable.
   */
  timestamp?: number;
  /**
   * When a read of all pages first showed that the message is missing, in milliseconds since 1970 by Redis' clock. If
   * the message went missing during a suspected outage, this time is set again when the suspicion ends. Absent while
   * the message is not missing.
   */
  missingSince?: number;
  /**
   * True if `message.deleted` was emitted. The snapshot is kept, so that the message is recognized if it
   * appears again.
   */
  deleted: boolean;
}

/**
 * Returns true if the message's flags (`delivered`, `read`) are expected to change: the message is outbound and not
 * deleted, is not both delivered and read, and has a timestamp that is less than `settleMs` milliseconds before or
 * after `upstreamNow`. A timestamp may be in the future, for example if its year is wrong.
 * @param upstreamNow current time by upstream's clock, in milliseconds since 1970
 */
export function mayFlagsStillChange(known: KnownMessage, upstreamNow: number, settleMs: number): boolean {
  return isFlagMissing(known) && isWithinSettleTime(known.timestamp, upstreamNow, settleMs);
}

/** Returns true if the message is outbound and not deleted, and is not both delivered and read. */
export function isFlagMissing({ direction, deleted, delivered, read }: KnownMessage): boolean {
  return direction === 'outbound' && !deleted && !(delivered && read);
}

/**
 * Returns true if the timestamp is less than `settleMs` milliseconds before or after `upstreamNow`; see
 * {@link mayFlagsStillChange}. Returns false if the timestamp is undefined.
 */
export function isWithinSettleTime(
  timestamp: number | undefined,
  upstreamNow: number,
  settleMs: number,
): boolean {
  return timestamp !== undefined && Math.abs(upstreamNow - timestamp) < settleMs;
}
