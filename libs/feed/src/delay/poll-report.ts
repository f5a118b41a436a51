import { createHash } from 'node:crypto';
import type { NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { messageSubject } from '../diff/diff.js';

/** A message whose arrival is emitted as an event, and what its detection delay can be worked out from. */
export interface Arrival {
  /** Its timestamp by upstream's clock, in milliseconds since 1970, if it has one. */
  timestamp?: number;
  /**
   * When it came, as far as the schedule says it, by Redis' clock: a moment between the read before this one and this
   * one. Absent where the contact was not read before.
   */
  shownAt?: number;
}

/** What a poll contributes to the account's figures. */
export interface PollReport {
  /** When the poll began, by Redis' clock: no request of it left earlier. Milliseconds since 1970. */
  startedAt: number;
  /** The `Date` of one of its replies, in milliseconds since 1970, if there was one. */
  upstreamDate?: number;
  arrivals: readonly Arrival[];
  /** The bounds of a contact's interval that this worker goes by, in milliseconds. */
  interval: { min: number; max: number };
  /** How many elements it gave up for good, as no page that holds them can be read. */
  skipped?: number;
}

const ARRIVALS: ReadonlySet<string> = new Set(['message.received', 'message.sent', 'message.created']);

/** Which read the messages come from. */
export interface ReadOfContact {
  contactId: string;
  /** When this read began, by Redis' clock; in milliseconds since 1970. */
  startedAt: number;
  /** When the read before it began, if there was one. */
  readAt?: number | undefined;
  observed: readonly UpstreamMessage[];
  /** The events that are committed with it. */
  events: readonly NewEvent[];
}

/**
 * The messages among the observed whose arrival is emitted: a baseline, and messages that come back, are none. Pure.
 *
 * A message without a timestamp may have come at any moment since the read before. Always taking the middle would
 * make the slowest look as prompt as the average, so each message gets a moment of its own, spread evenly by its id.
 */
export function arrivalsIn({ contactId, startedAt, readAt, observed, events }: ReadOfContact): Arrival[] {
  const emitted = new Set(events.filter(({ type }) => ARRIVALS.has(type)).map(({ subject }) => subject));
  if (emitted.size === 0) return [];
  return observed
    .filter(({ id }) => emitted.has(messageSubject(contactId, id)))
    .map(({ id, timestamp }) => ({
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(readAt === undefined ? {} : { shownAt: readAt + spread(id) * Math.max(startedAt - readAt, 0) }),
    }));
}

/** A number from 0 to 1 that depends on the id alone. */
function spread(id: string): number {
  return createHash('sha1').update(id).digest().readUInt32BE() / 2 ** 32;
}
