import { createHash } from 'node:crypto';
import type { NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { eventSubjectOfMessage } from '../diff/diff.js';

/**
 * A new message for which an event is emitted, with the data from which its detection delay is calculated.
 */
export interface Arrival {
  /**
   * Timestamp of the message by upstream's clock, in milliseconds since 1970. Absent if the message has no
   * readable timestamp.
   */
  timestamp?: number;
  /**
   * Estimated time at which the message arrived, in milliseconds since 1970 by Redis' clock. It lies between the
   * previous read of the contact and this read. Absent if there was no previous read, or if the message was found
   * by a read of older messages.
   */
  estimatedAt?: number;
}

/** Measurements of one poll, from which the account's statistics are calculated. */
export interface PollReport {
  /**
   * When the poll started, in milliseconds since 1970 by Redis' clock. All requests of the poll were sent
   * after this time.
   */
  startedAt: number;
  /**
   * Time in the `Date` header of one of the poll's replies from upstream, in milliseconds since 1970. The clock
   * difference is calculated from this time. Absent if unknown.
   */
  upstreamDate?: number;
  arrivals: readonly Arrival[];
  /** Settings of this worker: minimum and maximum time between two polls of a contact, in milliseconds. */
  interval: { min: number; max: number };
  /**
   * How many kinds of unreadable messages this poll skipped that no earlier poll of the contact has skipped: 1 or 2.
   * The two kinds are messages for which upstream returns an error, and messages that are too large. Absent if there
   * are none.
   */
  skipped?: number;
}

const ARRIVALS: ReadonlySet<string> = new Set(['message.received', 'message.sent', 'message.created']);

/** One read of a contact's messages, with the events that result from the read. */
export interface ContactRead {
  contactId: string;
  /** When the current read of the contact started, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /**
   * When the previous read of the contact started, in milliseconds since 1970 by Redis' clock. Undefined if
   * there was none, and for a read of older messages.
   */
  readAt?: number | undefined;
  observed: readonly UpstreamMessage[];
  /** Events that are committed together with the contact's new snapshot. */
  events: readonly NewEvent[];
}

/**
 * Returns the timestamp and an estimated time of arrival for each new message of a read. Messages of a baseline
 * and messages that reappear are left out. Has no side effects.
 *
 * The estimate is used if the detection delay cannot be calculated from the timestamp. The estimate lies
 * between the previous read and the current read. It depends on the message's id, so that the estimates for
 * many messages are spread evenly.
 */
export function arrivalTimesOfNewMessages({
  contactId,
  startedAt,
  readAt,
  observed,
  events,
}: ContactRead): Arrival[] {
  const emitted = new Set(events.filter(({ type }) => ARRIVALS.has(type)).map(({ subject }) => subject));
  if (emitted.size === 0) return [];
  return observed
    .filter(({ id }) => emitted.has(eventSubjectOfMessage(contactId, id)))
    .map(({ id, timestamp }) => ({
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(readAt === undefined ? {} : { estimatedAt: readAt + spread(id) * Math.max(startedAt - readAt, 0) }),
    }));
}

/**
 * Returns a number from 0 to 1 that depends only on the id. The numbers of different ids are spread evenly.
 */
function spread(id: string): number {
  return createHash('sha1').update(id).digest().readUInt32BE() / 2 ** 32;
}
