import type { Direction } from '#upstream';
import type { Fingerprint } from '../form/fingerprint.js';

/** Snapshot of a message: enough to detect the next change, without the message's text. */
export interface KnownMessage {
  direction: Direction;
  delivered: boolean;
  read: boolean;
  /** True if `message.delivered` was emitted or must never be emitted. */
  deliveredEmitted: boolean;
  readEmitted: boolean;
  fingerprint: Fingerprint;
  /** Revision of the message's last event. */
  revision: number;
  /** Timestamp by upstream's clock, in milliseconds since 1970, rounded to the minute; absent if unreadable. */
  timestamp?: number;
  /** Time since which complete reads do not contain the message, in milliseconds since 1970 by Redis' clock. */
  missingSince?: number;
  /** True if `message.deleted` was emitted. The snapshot is kept so that a return of the message is recognized. */
  deleted: boolean;
}

/**
 * Returns true if the message's flags may still change: the message is outbound, not both delivered and read, and at most
 * `settleMs` old.
 */
export function mayFlagsStillChange(known: KnownMessage, upstreamNow: number, settleMs: number): boolean {
  if (known.direction !== 'outbound' || known.deleted || (known.delivered && known.read)) return false;
  return known.timestamp !== undefined && upstreamNow - known.timestamp < settleMs;
}
