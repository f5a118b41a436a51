import { uniqueString } from '#platform';
import type { StateChange } from './relay-store.js';
import { type SendRecord, type SendState, timeOfStatus } from './send-record.js';
import {
  type TransitionResult,
  InvalidTransitionError,
  possiblyAcceptedPostCountAfter,
  findTransitionResult,
} from './send-transitions.js';

/**
 * Returns the send after a change, the event of the change (undefined if the change has none), and a unique id of the
 * change (`name`).
 * @param now current time by Redis' clock, in milliseconds since 1970
 * @throws {InvalidTransitionError} if the transition is not allowed in the status of the send
 */
export function changedSend(
  { order, state: before }: SendRecord,
  change: Pick<StateChange, 'transition' | 'state' | 'mayHaveLostPost' | 'name'>,
  now: number,
): { event: TransitionResult['event']; name: string; next: SendRecord } {
  const { transition, state, mayHaveLostPost, name = uniqueString() } = change;
  const step = findTransitionResult(before.status, transition);
  if (step === undefined) throw new InvalidTransitionError(before.status, transition);
  const copies = possiblyAcceptedPostCountAfter(transition, before.copies ?? 0);
  const after: SendState = {
    ...state,
    ...{ status: step.to, copies: mayHaveLostPost === true ? Math.max(copies, 1) : copies },
    ...{ revision: before.revision + 1, updatedAt: now, step: name },
    ...(state.messageId !== undefined && before.messageId === undefined ? { boundAt: now } : {}),
  };
  // If the status changes, `updatedAt` is the time of the new status. The state of the change may still contain the
  // stored `statusSince`, so this field is removed.
  if (step.to === before.status) after.statusSince = timeOfStatus(before);
  else delete after.statusSince;
  return { event: step.event, name, next: { order, state: after } };
}
