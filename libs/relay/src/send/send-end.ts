import type { StateChange } from './relay-store.js';
import { isAwaitingMessage, type SendRecord, lastingFields } from './send-record.js';

/** When a queued send is relayed no more, in milliseconds since 1970, and why. */
export interface Expiry {
  at: number;
  reason: string;
}

export function expiryOf({ order, state }: SendRecord, maxAgeMs: number): Expiry {
  const { expiresAt = Infinity, sendAt, createdAt } = order;
  const agedAt = (state.resentAt ?? sendAt ?? createdAt) + maxAgeMs;
  return expiresAt <= agedAt
    ? { at: expiresAt, reason: 'It could not be relayed before its expiresAt.' }
    : { at: agedAt, reason: 'It could not be relayed within SEND_MAX_AGE_SECONDS.' };
}

/** The step with which it ends. An earlier POST may have been taken: then that it was not relayed is not known. */
export function expiryChange(record: SendRecord, reason: string): StateChange {
  return {
    transition: isAwaitingMessage(record.state) ? 'marked_unknown' : 'expired',
    state: { ...lastingFields(record.state), reason },
  };
}
