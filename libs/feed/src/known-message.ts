import type { Direction } from '#upstream';
import type { Fingerprint } from './fingerprint.js';

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
}
