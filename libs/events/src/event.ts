import type { EventType } from './event-type.js';

/** A change that is to be recorded. */
export interface NewEvent {
  type: EventType;
  /** The contact that it is about; its `message.*` and `contact.*` events are counted per contact. */
  contactId?: string;
  /** What changed, such as `message:abc` or `send:snd_…`. */
  subject: string;
  /**
   * Which change of that subject it is. Committed together with the subject, so that the same change can never be
   * recorded under two ids.
   */
  revision: string | number;
  /** The `data` of the event, as JSON. */
  data: Readonly<Record<string, unknown>>;
}

/** A recorded change. */
export interface Event {
  /** `evt_…`: a hash of the account, its log's epoch, the subject, the type and the subject's revision. */
  id: string;
  type: EventType;
  /** When it was recorded, by Redis' clock: ISO 8601 in UTC. */
  timestamp: string;
  account: string;
  contactId?: string;
  /** Counts up by one: per contact for `message.*` and `contact.*`, per account for all others. */
  sequence: number;
  /** The `data` as the JSON text that was recorded; kept as text, so that every reader sees the same bytes. */
  data: string;
}

/** An event with its place in the log. */
export interface LoggedEvent extends Event {
  /** The place: later events have later places. */
  position: string;
}

/** The event as the JSON text that subscribers get; the same bytes every time. */
export function eventToJson(event: Event): string {
  const { id, type, timestamp, account, contactId, sequence } = event;
  const head = JSON.stringify({ id, type, timestamp, account, contactId, sequence });
  return `${head.slice(0, -1)},"data":${event.data}}`;
}
