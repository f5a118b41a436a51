import { createHash } from 'node:crypto';
import type { EventType } from '#events';

/** Status of a delivery. `missed`: the event was removed from the log before its turn came. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed' | 'missed';

/** Status as stored: a missed delivery is stored as `failed` with a flag. */
export type StoredDeliveryStatus = Exclude<DeliveryStatus, 'missed'>;

/** One HTTP request of a delivery. */
export interface Attempt {
  /** Start of the attempt by the worker's clock: ISO 8601. */
  at: string;
  durationMs: number;
  /** HTTP status of the reply, or null if no reply came. */
  statusCode: number | null;
  /** First 1,024 bytes of the reply's body, as text. */
  reply: string;
  /** Why the exchange failed, or null if the exchange was complete. */
  error: string | null;
}

/** The delivery of one event to one endpoint. */
export interface Delivery {
  /** `dlv_…` */
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  contactId: string | null;
  status: DeliveryStatus;
  /** Why the delivery failed or was missed, or null. */
  reason: string | null;
  /** The newest 100 attempts, oldest first. Manual retries can make any number of attempts. */
  attempts: Attempt[];
  /** Time of creation by Redis' clock: ISO 8601. */
  createdAt: string;
  /** When the next attempt is due by Redis' clock: ISO 8601. Null during an attempt and after the last attempt. */
  nextAttemptAt: string | null;
  /** When the delivery got its final status by Redis' clock: ISO 8601. Null while pending. */
  finishedAt: string | null;
}

/** A delivery to be created. A claim reads the event's body from the log. */
export interface NewDelivery {
  endpointId: string;
  /** The event to deliver and its position in the log. */
  event: { id: string; type: EventType; contactId?: string; position: string };
}

/** Returns the id of an event's delivery to an endpoint. The id is a hash of both, so duplicates are impossible. */
export function deliveryId(eventId: string, endpointId: string): string {
  return `dlv_${createHash('sha256').update(`${eventId}\n${endpointId}`).digest('hex').slice(0, 32)}`;
}
