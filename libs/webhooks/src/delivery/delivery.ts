import { createHash } from 'node:crypto';
import type { EventType } from '#events';

/** `missed`: it ended because its webhook was disabled, or because the log no longer kept its event. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed' | 'missed';

/** How it is stored: a missed delivery is a failed one with a flag. */
export type StoredDeliveryStatus = Exclude<DeliveryStatus, 'missed'>;

/** One HTTP request of a delivery. */
export interface Attempt {
  /** When it began: ISO 8601, by the worker's clock. */
  at: string;
  durationMs: number;
  /** Null where no reply came. */
  statusCode: number | null;
  /** The first KB of the reply as text. */
  reply: string;
  /** Why the exchange failed, or null where it was complete. */
  error: string | null;
}

/** One event for one endpoint. */
export interface Delivery {
  /** `dlv_…` */
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  contactId: string | null;
  status: DeliveryStatus;
  /** Why it failed for good. */
  reason: string | null;
  /** The newest hundred, oldest first: who tries again by hand may make any number. */
  attempts: Attempt[];
  /** ISO 8601, by Redis' clock, like the two that follow. */
  createdAt: string;
  /** Null while an attempt is under way and after the last. */
  nextAttemptAt: string | null;
  finishedAt: string | null;
}

/** A delivery that is to be made. What is posted is read from the log when it is claimed. */
export interface NewDelivery {
  endpointId: string;
  /** With its place in the log. */
  event: { id: string; type: EventType; contactId?: string; position: string };
}

/** The id of an event's delivery to an endpoint: there can never be two. */
export function deliveryId(eventId: string, endpointId: string): string {
  return `dlv_${createHash('sha256').update(`${eventId}\n${endpointId}`).digest('hex').slice(0, 32)}`;
}
