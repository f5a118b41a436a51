import type { TraceContext } from '#platform';
import type { EventType } from './event-type.js';

/** An event that is not yet recorded. */
export interface NewEvent {
  type: EventType;
  /**
   * Id of the contact that the event is about, if any. `message.*` and `contact.*` events are numbered per contact,
   * all others per account.
   */
  contactId?: string;
  /** Kind and id of the object that changed, such as `message:abc` or `send:snd_…`. */
  subject: string;
  /** Revision of the subject after the change. The event's id depends on the revision. */
  revision: string | number;
  /** Value of the event's `data` field, to be serialized as JSON. */
  data: Readonly<Record<string, unknown>>;
  /** The trace that the event belongs to, if any. It is stored with the event, but is not part of the event's JSON. */
  trace?: TraceContext;
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
  /**
   * Number of the event. `message.*` and `contact.*` events are numbered per contact, all others per account.
   */
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
  /** The trace that the event belongs to, if any. */
  trace?: TraceContext;
}

/** Returns the JSON text of an event, as webhooks receive it. Every call returns the same bytes. */
export function eventToJson(event: Event): string {
  const { id, type, timestamp, account, contactId, sequence } = event;
  const head = JSON.stringify({ id, type, timestamp, account, contactId, sequence });
  return `${head.slice(0, -1)},"data":${event.data}}`;
}
