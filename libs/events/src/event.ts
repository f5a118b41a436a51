import type { EventType } from './event-type.js';

/** An event that is not yet recorded. */
export interface NewEvent {
  type: EventType;
  /** Id of the contact concerned. Events of `message.*` and `contact.*` have one sequence per contact. */
  contactId?: string;
  /** Kind and id of the object that changed, such as `message:abc` or `send:snd_…`. */
  subject: string;
  /**
   * Revision of the subject after the change. Subject and event are committed together, so one change cannot be
   * recorded under two ids.
   */
  revision: string | number;
  /** Value of the event's `data` field, to be serialized as JSON. */
  data: Readonly<Record<string, unknown>>;
}

/** A recorded event. */
export interface Event {
  /** `evt_…`: a hash of the account, the log's epoch, the subject, the type and the subject's revision. */
  id: string;
  type: EventType;
  /** When the event was recorded, by Redis' clock, as an ISO 8601 time in UTC. */
  timestamp: string;
  account: string;
  contactId?: string;
  /** Number of the event, increasing by one: per contact for `message.*` and `contact.*`, else per account. */
  sequence: number;
  /**
   * The recorded `data` as JSON text. The text is never parsed and reserialized, so every reader gets the same
   * bytes.
   */
  data: string;
}

/** An event with its position in the log. */
export interface LoggedEvent extends Event {
  /** Id of the Redis stream entry. Later events have greater positions. */
  position: string;
}

/** Returns the JSON text that subscribers receive: the same bytes at every call. */
export function eventToJson(event: Event): string {
  const { id, type, timestamp, account, contactId, sequence } = event;
  const head = JSON.stringify({ id, type, timestamp, account, contactId, sequence });
  return `${head.slice(0, -1)},"data":${event.data}}`;
}
