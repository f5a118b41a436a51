import type { StateChange } from './relay-store.js';
import { isAwaitingMessage, type SendRecord, fieldsKeptAcrossTransitions } from './send-record.js';

/** When a queued send expires, in milliseconds since 1970, and the `reason` text that the expired send gets. */
export interface Expiry {
  at: number;
  reason: string;
}

/** Returns when a queued send expires: at its `expiresAt`, or at its maximum age if that is earlier. */
export function sendExpiryOf({ order, state }: SendRecord, maxAgeMs: number): Expiry {
  const { expiresAt = Infinity, sendAt, createdAt } = order;
  const agedAt = (state.resentAt ?? sendAt ?? createdAt) + maxAgeMs;
  return expiresAt <= agedAt
    ? { at: expiresAt, reason: 'The send could not be relayed before its expiresAt.' }
    : { at: agedAt, reason: 'The send could not be relayed within SEND_MAX_AGE_SECONDS.' };
}

/**
 * Returns the change that ends an expired send. The send becomes `expired`, or `unknown` if upstream may have
 * accepted an earlier POST. The store rejects the change if Redis has restarted since the send was stored or last
 * looked up. Redis may then have lost the record of a POST, so the send must be looked up first.
 */
export function stateChangeOfExpiredSend(record: SendRecord, reason: string): StateChange {
  return {
    transition: isAwaitingMessage(record.state) ? 'marked_unknown' : 'expired',
    state: { ...fieldsKeptAcrossTransitions(record.state), reason },
    redisRun: 'mustMatch',
  };
}
