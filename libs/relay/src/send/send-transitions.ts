import type { EventTypeOf } from '#events';
import { SEND_STATUSES, type SendStatus } from './send.js';

/** An edge of the state machine: the status after a transition, and the event that the transition emits. */
export interface Edge {
  to: SendStatus;
  event?: EventTypeOf<'send'>;
}

type Edges = Readonly<Partial<Record<SendStatus, Edge>>>;

/**
 * The state machine of a send: every transition, the statuses that allow the transition, and the status after it.
 *
 * A transition is invalid for every status that it does not list. `failed`, `cancelled` and `expired` are final, except
 * that a `failed` send can be resent.
 */
const EDGES = {
  /** The send's `sendAt` has come. */
  promoted: edges(['scheduled'], 'queued'),
  /** The worker is about to start the POST. */
  fenced: edges(['queued'], 'relaying'),
  /** The worker did not start the POST after all. */
  requeued: edges(['relaying'], 'queued'),
  /** Upstream accepted the POST: its answer was `queued`. */
  accepted: edges(['relaying'], 'accepted', 'send.accepted'),
  /** Upstream refused the send for good, or the send cannot be posted (its file is missing). */
  refused: edges(['relaying'], 'failed', 'send.failed'),
  /** Upstream certainly did not accept the POST. The send will be retried. */
  not_taken: edges(['relaying'], 'queued'),
  /** The POST had no clear answer: upstream may have accepted the send. The search for the send's message starts. */
  ambiguous: edges(['relaying'], 'relaying'),
  /** Redis lost the fence of a POST that is under way. The process that posts writes the fence again. */
  fence_restored: edges(['queued', 'relaying'], 'relaying'),
  /** The process that posted the send ended. The search for the send's message starts. */
  abandoned: edges(['relaying'], 'relaying'),
  /** An earlier POST may have gone out although Redis has no record of it. The search starts before the next POST. */
  recheck_started: edges(['queued'], 'relaying'),
  /** A search step did not find the message. The search continues. */
  search_continued: edges(['relaying'], 'relaying'),
  /** The recheck did not find an earlier POST. The send can be posted. */
  recheck_passed: edges(['relaying'], 'queued'),
  /** The message was not found in time, or an ambiguous send became too old for another POST. */
  marked_unknown: edges(['queued', 'relaying'], 'unknown', 'send.unknown'),
  /** The message was not found in time, and `SEND_ON_UNKNOWN=resend` asks for another POST. */
  resent_automatically: edges(['relaying'], 'queued'),
  /** A message of the contact is this send. A final status stays. */
  found: {
    ...edges(['queued', 'relaying', 'accepted', 'unknown'], 'sent', 'send.sent'),
    ...selfEdges('sent', 'failed', 'cancelled', 'expired'),
  },
  /** A second message of the contact is this send too: a requested resend posted the send twice. */
  duplicate_found: selfEdges('sent', 'delivered', 'read', 'failed', 'cancelled', 'expired'),
  /** The flags of the send's message changed. */
  message_delivered: edges(['sent'], 'delivered'),
  message_read: edges(['sent', 'delivered'], 'read'),
  /** The next check for the message of an accepted send has a new time. */
  confirmation_rescheduled: selfEdges('accepted'),
  /** The message of an accepted send was not seen in time. */
  unconfirmed: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** The caller cancelled the send. */
  cancelled: edges(['scheduled', 'queued'], 'cancelled', 'send.cancelled'),
  /** The send was too old, or past its `expiresAt`, before it was posted. */
  expired: edges(['queued'], 'expired', 'send.expired'),
  /** An operator resolved the send. A resend starts with a recheck. */
  resolved_resend: edges(['unknown', 'failed'], 'queued'),
  resolved_sent: edges(['unknown'], 'sent', 'send.sent'),
  resolved_failed: edges(['unknown'], 'failed', 'send.failed'),
  /** Retention drops an `unknown` send, because more than `SEND_RETENTION_MAX` sends are stored. */
  dropped_unknown: edges(['unknown'], 'unknown', 'send.unknown'),
  /** Retention drops an `accepted` send for the same reason. */
  dropped_accepted: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** An attempt ended after the send had already changed. Only the attempt is recorded. */
  attempt_recorded: selfEdges(...SEND_STATUSES),
} as const satisfies Record<string, Edges>;

/** The name of a transition of a send. */
export type TransitionName = keyof typeof EDGES;

export const TRANSITION_NAMES = Object.keys(EDGES) as TransitionName[];

/** Returns the edge that a transition takes from this status, or undefined if the transition is invalid. Pure. */
export function edgeOf(status: SendStatus, transition: TransitionName): Edge | undefined {
  const edges: Edges = EDGES[transition];
  return edges[status];
}

/** The transition is invalid for the status of the send. This is a programming error of the caller. */
export class InvalidTransitionError extends Error {
  constructor(status: SendStatus, transition: TransitionName) {
    super(`invalid transition of a send: ${transition} from the status ${status}`);
    this.name = 'InvalidTransitionError';
  }
}

/** How a transition changes the number of POSTs that upstream accepted or may have accepted. */
const COPIES_DELTA: Readonly<Partial<Record<TransitionName, number>>> = {
  fenced: 1,
  fence_restored: 1,
  requeued: -1,
  refused: -1,
  not_taken: -1,
};

/**
 * Returns the number of POSTs that upstream accepted or may have accepted after a transition.
 * @param copies that number before the transition
 */
export function copiesAfter(transition: TransitionName, copies: number): number {
  return copies + (COPIES_DELTA[transition] ?? 0);
}

/** Where a send is stored: in the schedule until its `sendAt`, in its recipient's lane, or in the archive. */
export type Location = 'schedule' | 'lane' | 'archive';

const LOCATIONS: Readonly<Record<SendStatus, Location>> = {
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

export function locationOf(status: SendStatus): Location {
  return LOCATIONS[status];
}

function edges(statuses: readonly SendStatus[], to: SendStatus, event?: EventTypeOf<'send'>): Edges {
  const edge: Edge = event === undefined ? { to } : { to, event };
  return Object.fromEntries(statuses.map((status) => [status, edge]));
}

function selfEdges(...statuses: readonly SendStatus[]): Edges {
  return Object.fromEntries(statuses.map((status) => [status, { to: status }]));
}
