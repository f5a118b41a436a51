import type { Transition } from './relay-store.js';
import { isAwaiting, type SendRecord, settled } from './send-record.js';

/** When a queued send is relayed no more, in milliseconds since 1970, and why. */
export interface SendEnd {
  at: number;
  reason: string;
}

export function endOf({ order, state }: SendRecord, maxAgeMs: number): SendEnd {
  const { expiresAt = Infinity, sendAt, createdAt } = order;
  const agedAt = (state.resentAt ?? sendAt ?? createdAt) + maxAgeMs;
  return expiresAt <= agedAt
    ? { at: expiresAt, reason: 'It could not be relayed before its expiresAt.' }
    : { at: agedAt, reason: 'It could not be relayed within SEND_MAX_AGE_SECONDS.' };
}

/** The step with which it ends. An earlier POST may have been taken: then that it was not relayed is not known. */
export function endingOf(record: SendRecord, reason: string): Transition {
  return {
    happening: isAwaiting(record.state) ? 'given_up' : 'expired',
    state: { ...settled(record.state), reason },
  };
}
