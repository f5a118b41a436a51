import type { EventType } from '#events';
import type { Attempt, Delivery, DeliveryStatus, StoredDeliveryStatus } from '../delivery/delivery.js';

/**
 * Builds a delivery from the fields of its Redis hash. Returns undefined for an empty hash. `blockedBy` is always
 * null, because it is not stored in the hash: `RedisDeliveryReader.find` sets it.
 */
export function parseDelivery(id: string, stored: Readonly<Record<string, string>>): Delivery | undefined {
  if (stored['status'] === undefined) return undefined;
  const date = (field: string): string | null => {
    const ms = stored[field];
    return ms === undefined ? null : new Date(Number(ms)).toISOString();
  };
  const attempts: Attempt[] = [];
  for (let n = 1; n <= Number(stored['attempts']); n++) {
    const attempt = stored[`attempt:${n}`];
    if (attempt !== undefined) attempts.push(JSON.parse(attempt) as Attempt);
  }
  return {
    id,
    endpointId: stored['endpoint'] ?? '',
    eventId: stored['event'] ?? '',
    eventType: stored['type'] as EventType,
    contactId: emptyIsNull(stored['contact']),
    status: statusOf(stored),
    reason: emptyIsNull(stored['reason']),
    attempts,
    createdAt: date('createdAt') ?? '',
    // While a delivery is claimed, the stored `nextAttemptAt` may still be the time at which the current attempt was
    // due, so it is not returned.
    nextAttemptAt: stored['claim'] === undefined ? date('nextAttemptAt') : null,
    blockedBy: null,
    finishedAt: date('finishedAt'),
  };
}

function statusOf(stored: Readonly<Record<string, string>>): DeliveryStatus {
  const status = stored['status'] as StoredDeliveryStatus;
  return status === 'failed' && stored['lost'] === '1' ? 'missed' : status;
}

function emptyIsNull(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
