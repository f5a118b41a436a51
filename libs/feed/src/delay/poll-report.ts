import { createHash } from 'node:crypto';
import type { NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { messageSubject } from '../diff/diff.js';

/** A message whose arrival is emitted, with the data for its detection delay. */
export interface Arrival {
  /** Timestamp of the message by upstream's clock, in milliseconds since 1970; absent if unreadable. */
  timestamp?: number;
  /**
   * Estimated time of arrival by Redis' clock: a time between the previous read and this read. Absent without a previous
   * read.
   */
  estimatedAt?: number;
}

/** Measurements of one poll for the account's statistics. */
export interface PollReport {
  /** Start of the poll by Redis' clock, in milliseconds since 1970. No request of the poll left earlier. */
  startedAt: number;
  /** `Date` of a response of the poll, in milliseconds since 1970; absent if unreadable. */
  upstreamDate?: number;
  arrivals: readonly Arrival[];
  /** Bounds of a contact's polling interval in this worker, in milliseconds. */
  interval: { min: number; max: number };
  /** Number of elements skipped for good because no page that contains them can be read. */
  skipped?: number;
}

const ARRIVALS: ReadonlySet<string> = new Set(['message.received', 'message.sent', 'message.created']);

/** A read of a contact, with its messages and events. */
export interface ContactRead {
  contactId: string;
  /** Start of the read by Redis' clock, in milliseconds since 1970. */
  startedAt: number;
  /** Start of the previous read, if any. */
  readAt?: number | undefined;
  observed: readonly UpstreamMessage[];
  /** Events that are committed with the read. */
  events: readonly NewEvent[];
}

/**
 * Returns the observed messages whose arrival is emitted. Messages of a baseline and returning messages are left out. Pure.
 *
 * A message without a timestamp may have arrived at any time since the previous read. The estimate is spread evenly by the
 * message id: with the middle of that time for all messages, the slowest percentile would equal the average.
 */
export function arrivalsOfEmittedMessages({
  contactId,
  startedAt,
  readAt,
  observed,
  events,
}: ContactRead): Arrival[] {
  const emitted = new Set(events.filter(({ type }) => ARRIVALS.has(type)).map(({ subject }) => subject));
  if (emitted.size === 0) return [];
  return observed
    .filter(({ id }) => emitted.has(messageSubject(contactId, id)))
    .map(({ id, timestamp }) => ({
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(readAt === undefined ? {} : { estimatedAt: readAt + spread(id) * Math.max(startedAt - readAt, 0) }),
    }));
}

/** Returns a number from 0 to 1 that depends on the id only. */
function spread(id: string): number {
  return createHash('sha1').update(id).digest().readUInt32BE() / 2 ** 32;
}
