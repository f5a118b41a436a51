import type { EventTypeOf } from '#events';
import { SEND_STATUSES, type SendStatus } from './send.js';

/** Where a happening leads, and the event that tells of it. */
export interface Edge {
  to: SendStatus;
  event?: EventTypeOf<'send'>;
}

type Edges = Readonly<Partial<Record<SendStatus, Edge>>>;

/**
 * The whole life of a send: what can happen to it, in which states, and where it leads. A state that a happening does
 * not name refuses it. `failed`, `cancelled` and `expired` are final, but for `failed` that is told to go out again.
 */
const EDGES = {
  /** Its `sendAt` has come. */
  promoted: edges(['scheduled'], 'queued'),
  /** The POST is about to begin. */
  fenced: edges(['queued'], 'relaying'),
  /** The POST did not begin after all. */
  requeued: edges(['relaying'], 'queued'),
  /** Upstream answered `queued`. */
  accepted: edges(['relaying'], 'accepted', 'send.accepted'),
  /** Upstream does not want it, or it cannot be posted at all. */
  refused: edges(['relaying'], 'failed', 'send.failed'),
  /** Upstream surely did not take it; it is tried again. */
  not_taken: edges(['relaying'], 'queued'),
  /** Nobody knows whether upstream took it; it is looked for from now on. */
  ambiguous: edges(['relaying'], 'relaying'),
  /** Redis forgot that it is being posted; whoever posts it did not. */
  fence_restored: edges(['queued', 'relaying'], 'relaying'),
  /** The process that was posting is gone; it is looked for from now on. */
  abandoned: edges(['relaying'], 'relaying'),
  /** It may have been posted without anybody here knowing; it is looked for before it is posted. */
  recheck_started: edges(['queued'], 'relaying'),
  /** It was looked for, not found, and is looked for again. */
  search_continued: edges(['relaying'], 'relaying'),
  /** One that was doubted is not there: it is posted. */
  recheck_passed: edges(['relaying'], 'queued'),
  /** It was not found in time, or its time was over before it could be posted once more. */
  marked_unknown: edges(['queued', 'relaying'], 'unknown', 'send.unknown'),
  /** It was not found in time, and a second text is what the operator prefers. */
  resent_automatically: edges(['relaying'], 'queued'),
  /** A message of the contact is it. What is final stays so. */
  found: {
    ...edges(['queued', 'relaying', 'accepted', 'unknown'], 'sent', 'send.sent'),
    ...selfEdges('sent', 'failed', 'cancelled', 'expired'),
  },
  /** A further message of the contact is it too: it was posted more than once, as was asked for. */
  duplicate_found: selfEdges('sent', 'delivered', 'read', 'failed', 'cancelled', 'expired'),
  /** The message's flags. */
  message_delivered: edges(['sent'], 'delivered'),
  message_read: edges(['sent', 'delivered'], 'read'),
  /** The message of an accepted one is asked for again. */
  confirmation_rescheduled: selfEdges('accepted'),
  /** That message did not show up in time. */
  unconfirmed: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** The caller took it back. */
  cancelled: edges(['scheduled', 'queued'], 'cancelled', 'send.cancelled'),
  /** It could not be relayed in time. */
  expired: edges(['queued'], 'expired', 'send.expired'),
  /** The operator's word on what nobody knows; what is to go out again is looked for once more before. */
  resolved_resend: edges(['unknown', 'failed'], 'queued'),
  resolved_sent: edges(['unknown'], 'sent', 'send.sent'),
  resolved_failed: edges(['unknown'], 'failed', 'send.failed'),
  /** There are too many sends, and it is the first to go of those that nobody knows the end of. */
  dropped_unknown: edges(['unknown'], 'unknown', 'send.unknown'),
  /** The same of one that upstream took. */
  dropped_accepted: edges(['accepted'], 'accepted', 'send.unconfirmed'),
  /** An attempt came to its end when the send had moved on already; it is written down. */
  attempt_recorded: selfEdges(...SEND_STATUSES),
} as const satisfies Record<string, Edges>;

/** Something that can happen to a send. */
export type TransitionName = keyof typeof EDGES;

export const TRANSITION_NAMES = Object.keys(EDGES) as TransitionName[];

/** Where a happening leads a send of this status, or undefined if it cannot happen to it. Pure. */
export function edgeOf(status: SendStatus, transition: TransitionName): Edge | undefined {
  const passages: Edges = EDGES[transition];
  return passages[status];
}

/** What happened cannot happen to a send that stands so: whoever says so is mistaken. */
export class InvalidTransitionError extends Error {
  constructor(status: SendStatus, transition: TransitionName) {
    super(`a send that is ${status} cannot be ${transition}`);
    this.name = 'ImpossiblePassageError';
  }
}

/** What a happening changes in the number of POSTs that upstream took or may have taken. */
const COPIES_DELTA: Readonly<Partial<Record<TransitionName, number>>> = {
  fenced: 1,
  fence_restored: 1,
  requeued: -1,
  refused: -1,
  not_taken: -1,
};

/** How many POSTs upstream took or may have taken after the happening, of how many before. */
export function copiesAfter(transition: TransitionName, copies: number): number {
  return copies + (COPIES_DELTA[transition] ?? 0);
}

/** Where a send is kept: until its time comes, in its recipient's lane, or among those that may rest for good. */
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
