import type { LaneHead } from '../send/lane-store.js';
import { checkServiceBeforePost } from './service-check.js';
import { sendExpiryOf } from '../send/send-expiry.js';
import { REDIS_CLOCK_TOLERANCE_MS, type SendState } from '../send/send-record.js';

/** The next step for the first send in a lane (a recipient's queue of sends). */
export type LaneStep =
  | { kind: 'wait'; ms: number }
  | { kind: 'expire'; reason: string }
  | { kind: 'post' }
  /**
   * No contact list was read from the upstream address yet, so the service behind it is not known. Read the list
   * first.
   */
  | { kind: 'verify_address' }
  /**
   * The service behind the account's upstream address is not the service for which the send was stored or last
   * resent. Set the send to `unknown`.
   */
  | { kind: 'wrong_service' }
  /** Upstream may have accepted an earlier POST. Look up the send before it is posted again or marked as expired. */
  | { kind: 'recheck' }
  /** The process that posted the send died or hangs. Look up the send to find out whether upstream accepted it. */
  | { kind: 'recover' }
  | { kind: 'look_up' }
  /** Remove the send from the lane, because sends with its status do not belong in a lane. */
  | { kind: 'remove_from_lane' };

/**
 * Returns the next step for the first send in a lane.
 * @param maxAgeMs maximum time that a send may wait to be relayed, in milliseconds
 * @param address hash of the account's upstream address; undefined if the address is not known
 */
export function nextLaneStep(head: LaneHead, maxAgeMs: number, address: string | undefined): LaneStep {
  const { record, now, redisRestartedAt } = head;
  const { state } = record;
  const serviceCheck = checkServiceBeforePost(head, address);
  switch (state.status) {
    case 'queued': {
      const expiry = sendExpiryOf(record, maxAgeMs);
      if (now >= expiry.at) {
        if (redisRestartedAt === undefined) return { kind: 'expire', reason: expiry.reason };
        // Do not set the status `expired`: it means that the send was not posted. This send may have been posted,
        // because Redis may have lost the record of a POST when Redis restarted.
        return { kind: serviceCheck === 'other_service' ? 'wrong_service' : 'recheck' };
      }
      const wait = waitMs(state, now);
      if (wait > 0) return { kind: 'wait', ms: Math.min(wait, expiry.at - now) };
      if (serviceCheck === 'other_service') return { kind: 'wrong_service' };
      if (serviceCheck === 'unverified') return { kind: 'verify_address' };
      if (serviceCheck !== 'same_service')
        return { kind: 'wait', ms: Math.min(serviceCheck, expiry.at - now) };
      return { kind: redisRestartedAt === undefined && state.lookFirst !== true ? 'post' : 'recheck' };
    }
    case 'relaying': {
      const wait = waitMs(state, now);
      if (wait > 0) return { kind: 'wait', ms: wait };
      if (serviceCheck === 'other_service') return { kind: 'wrong_service' };
      return { kind: state.phase === 'looking' ? 'look_up' : 'recover' };
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

/**
 * Returns how long the send's next POST or look-up must wait, in milliseconds; 0 if it is due. A wait that began
 * before Redis' clock was set back counts as over. Otherwise, it would last until the clock has caught up.
 */
function waitMs({ notBefore = 0, updatedAt }: SendState, now: number): number {
  const isClockSetBack = updatedAt > now + REDIS_CLOCK_TOLERANCE_MS;
  return isClockSetBack ? 0 : Math.max(notBefore - now, 0);
}
