import type { LaneHead } from '../send/relay-store.js';
import { destinationOf } from './destination.js';
import { expiryOf } from '../send/send-end.js';

/** What is to be done with the send at the head of a lane. */
export type LaneStep =
  | { kind: 'wait'; ms: number }
  | { kind: 'expire'; reason: string }
  | { kind: 'post' }
  /** The address was never seen to lead to a service that shows a contact list: that is seen to first. */
  | { kind: 'prove' }
  /** It was accepted for another service than the one that the account's address leads to. */
  | { kind: 'misplaced' }
  /** Redis may have forgotten that it was posted, or an earlier POST may have been taken after all. */
  | { kind: 'doubt' }
  /** The process that was posting is gone; nobody knows what became of the POST. */
  | { kind: 'recover' }
  | { kind: 'look' }
  /** It has ended and does not belong here: a leftover that is cleared away. */
  | { kind: 'leave' };

/**
 * Decides by what the store says of the head, and where the account's requests go.
 * @param address the stamp of that; undefined where nothing is known of it
 */
export function nextStep(head: LaneHead, maxAgeMs: number, address: string | undefined): LaneStep {
  const { record, now, redisRestartedAt } = head;
  const { state } = record;
  const destination = destinationOf(head, address);
  switch (state.status) {
    case 'queued': {
      const wait = (state.notBefore ?? 0) - now;
      const end = expiryOf(record, maxAgeMs);
      if (now >= end.at) return { kind: 'expire', reason: end.reason };
      if (wait > 0) return { kind: 'wait', ms: Math.min(wait, end.at - now) };
      if (destination === 'elsewhere') return { kind: 'misplaced' };
      if (destination === 'unproven') return { kind: 'prove' };
      if (destination !== 'here') return { kind: 'wait', ms: Math.min(destination, end.at - now) };
      return { kind: redisRestartedAt === undefined && state.lookFirst !== true ? 'post' : 'doubt' };
    }
    case 'relaying': {
      const wait = (state.notBefore ?? 0) - now;
      if (wait > 0) return { kind: 'wait', ms: wait };
      if (destination === 'elsewhere') return { kind: 'misplaced' };
      return { kind: state.phase === 'looking' ? 'look' : 'recover' };
    }
    case 'scheduled':
    case 'accepted':
    case 'sent':
    case 'delivered':
    case 'read':
    case 'unknown':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return { kind: 'leave' };
  }
}
