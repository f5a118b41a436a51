import type { LaneHead } from '../send/relay-store.js';
import { destinationOf } from './destination.js';
import { expiryOf } from '../send/send-expiry.js';

/** The next step for the send at the head of a lane. */
export type LaneStep =
  | { kind: 'wait'; ms: number }
  | { kind: 'expire'; reason: string }
  | { kind: 'post' }
  /** No contact list was read from the address yet. The list must be read before the POST. */
  | { kind: 'verify_address' }
  /**
   * The send was accepted for another service than the account's present address leads to. The send becomes `unknown`.
   */
  | { kind: 'wrong_service' }
  /** An earlier POST may have been accepted. A search must rule that out before the next POST. */
  | { kind: 'recheck' }
  /** The process that posted the send ended: search for the POST. */
  | { kind: 'recover' }
  | { kind: 'search' }
  /** The status does not belong in a lane: remove the send from the lane. */
  | { kind: 'remove_from_lane' };

/**
 * Returns the next step for the head of a lane.
 * @param address stamp of the account's upstream address; undefined if the address is not known
 */
export function nextStep(head: LaneHead, maxAgeMs: number, address: string | undefined): LaneStep {
  const { record, now, redisRestartedAt } = head;
  const { state } = record;
  const destination = destinationOf(head, address);
  switch (state.status) {
    case 'queued': {
      const wait = (state.notBefore ?? 0) - now;
      const expiry = expiryOf(record, maxAgeMs);
      if (now >= expiry.at) return { kind: 'expire', reason: expiry.reason };
      if (wait > 0) return { kind: 'wait', ms: Math.min(wait, expiry.at - now) };
      if (destination === 'other_service') return { kind: 'wrong_service' };
      if (destination === 'unverified') return { kind: 'verify_address' };
      if (destination !== 'same_service') return { kind: 'wait', ms: Math.min(destination, expiry.at - now) };
      return { kind: redisRestartedAt === undefined && state.lookFirst !== true ? 'post' : 'recheck' };
    }
    case 'relaying': {
      const wait = (state.notBefore ?? 0) - now;
      if (wait > 0) return { kind: 'wait', ms: wait };
      if (destination === 'other_service') return { kind: 'wrong_service' };
      return { kind: state.phase === 'looking' ? 'search' : 'recover' };
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
      return { kind: 'remove_from_lane' };
  }
}
