import type { Direction } from '#upstream';
import type { Fingerprint } from '../form/fingerprint.js';

/** What is remembered of a message after a poll: enough to tell its next change, none of its text. */
export interface KnownMessage {
  direction: Direction;
  delivered: boolean;
  read: boolean;
  /** Whether `message.delivered` was told, or is never to be told. */
  toldDelivered: boolean;
  toldRead: boolean;
  fingerprint: Fingerprint;
  /** Counts its recorded changes. */
  revision: number;
  /** Milliseconds since 1970 on upstream's clock, to the minute; absent if it has none. */
  timestamp?: number;
  /** Since when complete reads have not shown it; milliseconds since 1970 by Redis' clock, to the second. */
  missingSince?: number;
  /** Told as deleted. It stays known, so that its return is told as that. */
  deleted: boolean;
}

/** Whether a message may still become delivered or read, and is looked after until `settleMs` after its timestamp. */
export function isUnsettled(known: KnownMessage, upstreamNow: number, settleMs: number): boolean {
  if (known.direction !== 'outbound' || known.deleted || (known.delivered && known.read)) return false;
  return known.timestamp !== undefined && upstreamNow - known.timestamp < settleMs;
}
