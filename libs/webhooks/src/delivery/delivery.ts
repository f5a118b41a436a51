import { createHash } from 'node:crypto';
import type { EventType } from '#events';

/** Status of a delivery. `missed`: the event was deleted from the event log before it could be delivered. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed' | 'missed';

/** Status as stored: a missed delivery is stored as `failed` with a flag. */
export type StoredDeliveryStatus = Exclude<DeliveryStatus, 'missed'>;

/** One HTTP request of a delivery. */
export interface Attempt {
  /** When the attempt started, by Redis' clock, as an ISO 8601 time. */
  at: string;
  /** Duration of the attempt, in milliseconds. */
  durationMs: number;
  /** HTTP status of the reply, or null if no reply came. */
  statusCode: number | null;
  /** First 1,024 bytes of the reply's body, as text. Empty if there is no reply or no body. */
  reply: string;
  /**
   * Why the request failed. Null if the whole reply arrived, or at least the first 1,024 bytes of its body.
   */
  error: string | null;
}

/** The delivery of one event to one endpoint. */
export interface Delivery {
  /** Id of the delivery; starts with `dlv_`. */
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  contactId: string | null;
  status: DeliveryStatus;
  /** Why the delivery failed or was missed. Null if the delivery is pending or succeeded. */
  reason: string | null;
  /** The newest 100 attempts, oldest first. Older attempts are not kept. */
  attempts: Attempt[];
  /** When the delivery was created, by Redis' clock, as an ISO 8601 time. */
  createdAt: string;
  /**
   * When the next attempt is due, by Redis' clock, as an ISO 8601 time. Null during an attempt and after the
   * last attempt.
   */
  nextAttemptAt: string | null;
  /**
   * Id of the delivery that must finish before this delivery is attempted: at an ordered endpoint, the first pending
   * delivery of the same contact. Null if no delivery blocks this delivery.
   */
  blockedBy: string | null;
  /**
   * When the delivery got its final status, by Redis' clock, as an ISO 8601 time. Null while the delivery is
   * pending.
   */
  finishedAt: string | null;
}

/**
 * A delivery to be created. The event's content is read from the event log only when the delivery is claimed.
 */
export interface NewDelivery {
  endpointId: string;
  /** The event to deliver and its position in the log. */
  event: { id: string; type: EventType; contactId?: string; position: string };
}

/**
 * Returns the id of the delivery of an event to an endpoint. The id is a hash of both ids, so the same delivery
 * cannot be created twice.
 */
export function deliveryId(eventId: string, endpointId: string): string {
  return `dlv_${createHash('sha256').update(`${eventId}\n${endpointId}`).digest('hex').slice(0, 32)}`;
}
