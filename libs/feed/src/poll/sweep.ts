import type { PollState } from '../snapshot/poll-state.js';
import type { RebuildablePollState } from '../snapshot/rebuildable-poll-state.js';

/**
 * Maximum time between two sweeps of a contact with misplaced messages, in milliseconds. The order of the contact's
 * list may be misjudged, and new messages are then found only by a sweep.
 */
const MISPLACED_SWEEP_MS = 3_600_000;

/**
 * Returns true if a sweep of the contact is due: the regular read of all pages of its messages.
 * @param now time in milliseconds since 1970 by Redis' clock
 * @param sweepMs configured time between two sweeps, in milliseconds
 */
export function isSweepDue(
  { completeAt }: Pick<PollState, 'completeAt'>,
  { hasMisplacedMessages }: Pick<RebuildablePollState, 'hasMisplacedMessages'>,
  now: number,
  sweepMs: number,
): boolean {
  const intervalMs = hasMisplacedMessages === true ? Math.min(sweepMs, MISPLACED_SWEEP_MS) : sweepMs;
  return completeAt === undefined || completeAt + intervalMs <= now;
}
