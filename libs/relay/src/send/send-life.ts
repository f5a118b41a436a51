import type { EventTypeOf } from '#events';
import { SEND_STATUSES, type SendStatus } from './send.js';

/** Where a happening leads, and the event that tells of it. */
export interface Passage {
  to: SendStatus;
  event?: EventTypeOf<'send'>;
}

type Passages = Readonly<Partial<Record<SendStatus, Passage>>>;

/**
 * The whole life of a send: what can happen to it, in which states, and where it leads. A state that a happening does
 * not name refuses it. `failed`, `cancelled` and `expired` are final, but for `failed` that is told to go out again.
 */
const LIFE = {
  /** Its `sendAt` has come. */
  promoted: from(['scheduled'], 'queued'),
  /** The POST is about to begin. */
  fenced: from(['queued'], 'relaying'),
  /** The POST did not begin after all. */
  put_back: from(['relaying'], 'queued'),
  /** Upstream answered `queued`. */
  taken: from(['relaying'], 'accepted', 'send.accepted'),
  /** Upstream does not want it, or it cannot be posted at all. */
  refused: from(['relaying'], 'failed', 'send.failed'),
  /** Upstream surely did not take it; it is tried again. */
  not_taken: from(['relaying'], 'queued'),
  /** Nobody knows whether upstream took it; it is looked for from now on. */
  ambiguous: from(['relaying'], 'relaying'),
  /** Redis forgot that it is being posted; whoever posts it did not. */
  remembered: from(['queued', 'relaying'], 'relaying'),
  /** The process that was posting is gone; it is looked for from now on. */
  abandoned: from(['relaying'], 'relaying'),
  /** It may have been posted without anybody here knowing; it is looked for before it is posted. */
  doubted: from(['queued'], 'relaying'),
  /** It was looked for, not found, and is looked for again. */
  looked: from(['relaying'], 'relaying'),
  /** One that was doubted is not there: it is posted. */
  cleared: from(['relaying'], 'queued'),
  /** It was not found in time, or its time was over before it could be posted once more. */
  given_up: from(['queued', 'relaying'], 'unknown', 'send.unknown'),
  /** It was not found in time, and a second text is what the operator prefers. */
  repeated: from(['relaying'], 'queued'),
  /** A message of the contact is it. What is final stays so. */
  found: {
    ...from(['queued', 'relaying', 'accepted', 'unknown'], 'sent', 'send.sent'),
    ...still('sent', 'failed', 'cancelled', 'expired'),
  },
  /** A further message of the contact is it too: it was posted more than once, as was asked for. */
  found_again: still('sent', 'delivered', 'read', 'failed', 'cancelled', 'expired'),
  /** The message's flags. */
  shown_delivered: from(['sent'], 'delivered'),
  shown_read: from(['sent', 'delivered'], 'read'),
  /** The message of an accepted one is asked for again. */
  awaited: still('accepted'),
  /** That message did not show up in time. */
  unconfirmed: from(['accepted'], 'accepted', 'send.unconfirmed'),
  /** The caller took it back. */
  cancelled: from(['scheduled', 'queued'], 'cancelled', 'send.cancelled'),
  /** It could not be relayed in time. */
  expired: from(['queued'], 'expired', 'send.expired'),
  /** The operator's word on what nobody knows; what is to go out again is looked for once more before. */
  resolved_resend: from(['unknown', 'failed'], 'queued'),
  resolved_sent: from(['unknown'], 'sent', 'send.sent'),
  resolved_failed: from(['unknown'], 'failed', 'send.failed'),
  /** There are too many sends, and it is the first to go of those that nobody knows the end of. */
  forgotten: from(['unknown'], 'unknown', 'send.unknown'),
  /** The same of one that upstream took. */
  forgotten_unseen: from(['accepted'], 'accepted', 'send.unconfirmed'),
  /** An attempt came to its end when the send had moved on already; it is written down. */
  noted: still(...SEND_STATUSES),
} as const satisfies Record<string, Passages>;

/** Something that can happen to a send. */
export type Happening = keyof typeof LIFE;

export const HAPPENINGS = Object.keys(LIFE) as Happening[];

/** Where a happening leads a send of this status, or undefined if it cannot happen to it. Pure. */
export function passage(status: SendStatus, happening: Happening): Passage | undefined {
  const passages: Passages = LIFE[happening];
  return passages[status];
}

/** What happened cannot happen to a send that stands so: whoever says so is mistaken. */
export class ImpossiblePassageError extends Error {
  constructor(status: SendStatus, happening: Happening) {
    super(`a send that is ${status} cannot be ${happening}`);
    this.name = 'ImpossiblePassageError';
  }
}

/** What a happening changes in the number of POSTs that upstream took or may have taken. */
const COPIES: Readonly<Partial<Record<Happening, number>>> = {
  fenced: 1,
  remembered: 1,
  put_back: -1,
  refused: -1,
  not_taken: -1,
};

/** How many POSTs upstream took or may have taken after the happening, of how many before. */
export function copiesAfter(happening: Happening, copies: number): number {
  return copies + (COPIES[happening] ?? 0);
}

/** Where a send is kept: until its time comes, in its recipient's lane, or among those that may rest for good. */
export type Place = 'schedule' | 'lane' | 'shelf';

const PLACES: Readonly<Record<SendStatus, Place>> = {
  scheduled: 'schedule',
  queued: 'lane',
  relaying: 'lane',
  accepted: 'shelf',
  sent: 'shelf',
  delivered: 'shelf',
  read: 'shelf',
  unknown: 'shelf',
  failed: 'shelf',
  cancelled: 'shelf',
  expired: 'shelf',
};

export function placeOf(status: SendStatus): Place {
  return PLACES[status];
}

function from(statuses: readonly SendStatus[], to: SendStatus, event?: EventTypeOf<'send'>): Passages {
  const one: Passage = event === undefined ? { to } : { to, event };
  return Object.fromEntries(statuses.map((status) => [status, one]));
}

function still(...statuses: readonly SendStatus[]): Passages {
  return Object.fromEntries(statuses.map((status) => [status, { to: status }]));
}
