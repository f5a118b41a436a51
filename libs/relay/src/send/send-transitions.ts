import type { EventTypeOf } from '#events';
import { SEND_STATUSES, type SendStatus } from './send.js';

/**
 * The result of a transition from one status of the state machine: the new status, and the event that is emitted, if
 * any.
 */
export interface TransitionResult {
  to: SendStatus;
  event?: EventTypeOf<'send'>;
}

type Edges = Readonly<Partial<Record<SendStatus, TransitionResult>>>;

/**
 * The state machine of a send. For each transition: the statuses in which it is valid, the new status, and the event
 * that is emitted, if any. A transition is invalid in every status that it does not list.
 *
 * No transition changes the statuses `read`, `cancelled` and `expired`. A `failed` send changes only if it is resent.
 */
const EDGES = {
  /** The time for which the send was scheduled (`sendAt`) has come. */
  promoted: edges(['scheduled'], 'queued'),
  /** The worker is about to start the POST, and marks the send first. */
  fenced: edges(['queued'], 'relaying'),
  /** The worker did not start the POST after all. */
  requeued: edges(['relaying'], 'queued'),
  /** Upstream accepted the POST: its answer was `queued`. */
  accepted: edges(['relaying'], 'accepted', 'send.accepted'),
  /** Upstream rejected the send permanently, or the send cannot be posted because its file is missing. */
  refused: edges(['relaying'], 'failed', 'send.failed'),
  /**
   * Upstream certainly did not accept the POST, or no POST was made because the file of the send could not be read.
   * The send will be retried.
   */
  not_taken: edges(['relaying'], 'queued'),
  /** The POST had no clear answer: upstream may have accepted the send. The look-ups of the send start. */
  ambiguous: edges(['relaying'], 'relaying'),
  /**
   * Redis lost the status `relaying` of a send whose POST is in progress or has just ended. The process that makes
   * the POST sets this status again. If Redis also lost the status `queued`, the stored status is `scheduled`. The
   * stored status is `relaying` if another process has already begun to look up the send.
   */
  fence_restored: edges(['scheduled', 'queued', 'relaying'], 'relaying'),
  /** The process that posted the send died or hangs. The look-ups of the send start. */
  abandoned: edges(['relaying'], 'relaying'),
  /**
   * The send may have been posted before: Redis may have lost the record of a POST, or a resend was requested.
   * Look-ups start before the next POST.
   */
  recheck_started: edges(['queued'], 'relaying'),
  /**
   * A look-up begins, or renews its lease. The lease, which ends at `notBefore`, prevents further look-ups meanwhile.
   */
  lookup_begun: edges(['relaying'], 'relaying'),
  /** A look-up did not find the message. Another look-up follows. */
  search_continued: edges(['relaying'], 'relaying'),
  /** The look-ups before a POST did not find the send's message. The send can be posted. */
  recheck_passed: edges(['relaying'], 'queued'),
  /** The outcome of the send is not known. The send now waits for a caller's decision. */
  marked_unknown: edges(['queued', 'relaying'], 'unknown', 'send.unknown'),
  /** The message was not found in time, and the setting `SEND_ON_UNKNOWN=resend` demands another POST. */
  resent_automatically: edges(['relaying'], 'queued'),
  /**
   * The send's message was found. A send with the status `sent`, `failed`, `cancelled` or `expired` keeps this
   * status. A scheduled or queued send can have a message if Redis lost the record of its POST.
   */
  found: {
    ...edges(['scheduled', 'queued', 'relaying', 'accepted', 'unknown'], 'sent', 'send.sent'),
    ...selfEdges('sent', 'failed', 'cancelled', 'expired'),
  },
  /** A further message of the same send was found, because the send was posted more than once. */
  duplicate_found: selfEdges('sent', 'delivered', 'read', 'failed', 'cancelled', 'expired'),
  /** The send's message now has the flag "delivered" at upstream. */
  message_delivered: edges(['sent'], 'delivered'),
  /** The send's message now has the flag "read" at upstream. */
  message_read: edges(['sent', 'delivered'], 'read'),
  /** The time of the next check for the message of an accepted send has changed. */
  confirmation_rescheduled: selfEdges('accepted'),
  /** The message of an accepted send did not appear in time. */
  unconfirmed: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** The caller cancelled the send. */
  cancelled: edges(['scheduled', 'queued'], 'cancelled', 'send.cancelled'),
  /** The send reached its maximum age or its `expiresAt` before it was posted. */
  expired: edges(['queued'], 'expired', 'send.expired'),
  /** An operator requested another POST of the send. A look-up of the send comes first. */
  resolved_resend: edges(['unknown', 'failed'], 'queued'),
  /** An operator recorded that the send was sent. */
  resolved_sent: edges(['unknown'], 'sent', 'send.sent'),
  /** An operator recorded that the send failed. */
  resolved_failed: edges(['unknown'], 'failed', 'send.failed'),
  /** Retention is about to remove an `unknown` send, because more than `SEND_RETENTION_MAX` sends are stored. */
  dropped_unknown: edges(['unknown'], 'unknown', 'send.unknown'),
  /** Retention is about to remove an `accepted` send, because more than `SEND_RETENTION_MAX` sends are stored. */
  dropped_accepted: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** An attempt ended after another process had changed the send. Only the attempt is recorded. */
  attempt_recorded: selfEdges(...SEND_STATUSES),
} as const satisfies Record<string, Edges>;

/** The name of a transition of a send. */
export type TransitionName = keyof typeof EDGES;

/** The names of all transitions of a send. */
export const SEND_TRANSITION_NAMES = Object.keys(EDGES) as TransitionName[];

/**
 * Returns the new status and the event of a transition from this status, or undefined if the transition is invalid.
 * Pure function.
 */
export function findTransitionResult(
  status: SendStatus,
  transition: TransitionName,
): TransitionResult | undefined {
  const edges: Edges = EDGES[transition];
  return edges[status];
}

/** Thrown if a transition is invalid in the status of the send. This is a programming error of the caller. */
export class InvalidTransitionError extends Error {
  constructor(status: SendStatus, transition: TransitionName) {
    super(`invalid transition of a send: ${transition} from the status ${status}`);
    this.name = 'InvalidTransitionError';
  }
}

/**
 * How these transitions change the number of POSTs that upstream accepted or may have accepted. Other transitions do
 * not change the number.
 */
const COPIES_DELTA: Readonly<Partial<Record<TransitionName, number>>> = {
  fenced: 1,
  fence_restored: 1,
  requeued: -1,
  refused: -1,
  not_taken: -1,
};

/** Returns how many POSTs of a send upstream accepted or may have accepted, after a transition. */
export function possiblyAcceptedPostCountAfter(transition: TransitionName, countBefore: number): number {
  return countBefore + (COPIES_DELTA[transition] ?? 0);
}

/**
 * Where a send is stored: a scheduled send in the schedule, a queued or relaying send in its recipient's queue
 * (`lane`), and every other send in the archive. A cancelled send may move from the schedule straight to the archive,
 * and a resend moves a send from the archive back to the queue.
 */
export type SendStorageLocation = 'schedule' | 'lane' | 'archive';

const LOCATIONS: Readonly<Record<SendStatus, SendStorageLocation>> = {
  scheduled: 'schedule',
  queued: 'lane',
  relaying: 'lane',
  accepted: 'archive',
  sent: 'archive',
  delivered: 'archive',
  read: 'archive',
  unknown: 'archive',
  failed: 'archive',
  cancelled: 'archive',
  expired: 'archive',
};

/** Returns where a send with this status is stored. */
export function storageLocationOfSend(status: SendStatus): SendStorageLocation {
  return LOCATIONS[status];
}

function edges(statuses: readonly SendStatus[], to: SendStatus, event?: EventTypeOf<'send'>): Edges {
  const edge: TransitionResult = event === undefined ? { to } : { to, event };
  return Object.fromEntries(statuses.map((status) => [status, edge]));
}

function selfEdges(...statuses: readonly SendStatus[]): Edges {
  return Object.fromEntries(statuses.map((status) => [status, { to: status }]));
}
