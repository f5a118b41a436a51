import type { NewEvent } from '#events';
import { messageSubject } from './diff.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { BoundSend } from '../ports.js';

/** What a complete read of a contact did not show. */
export interface AbsenceInput {
  contactId: string;
  /** Everything that is known of the contact. */
  known: ReadonlyMap<string, KnownMessage>;
  /** What the read showed. */
  seen: ReadonlySet<string>;
  /** By Redis' clock, in milliseconds since 1970. */
  now: number;
  /** Two complete reads that do not show a message are at least so far apart before it is told as deleted. */
  apartMs: number;
  /** However many they are: whoever runs the account said that deletions may be believed. */
  believed: boolean;
  /** However few they are: upstream shows far less of the whole account than before. */
  doubted: boolean;
  /** Whether the read may have shown them as elements that could not be read: then it says nothing of what is missing. */
  unreadable: boolean;
  /**
   * The read showed nothing at all: then only what is missing since before this, the last time when upstream showed a
   * message of any contact, is believed.
   */
  emptiedSince?: number;
}

/** What follows from it. */
export interface AbsenceResult {
  /** What is known from now on, of the messages whose absence is news. */
  known: Map<string, KnownMessage>;
  /** The messages that are told as deleted, with their revision before that. */
  deleted: { id: string; revision: number }[];
  /** How many vanished together, if they are too many to be believed. */
  suspected: number;
  /** Whether some are missing that a later complete read decides about. */
  pending: boolean;
}

/** So many may vanish together and are still believed… */
const FEW = 10;
/** …and, of many, so large a part. */
const BELIEVED_PART = 1 / 5;

/**
 * While upstream shows too little, it is found out again and again, contact by contact: all that within so long of each
 * other is one suspicion, and is told once. In milliseconds.
 */
const SUSPICION_MS = 600_000;

/** Whether a suspicion still lasts. @param suspectAt when there last was one, by Redis' clock */
export function isSuspect(suspectAt: number, now: number): boolean {
  return now - suspectAt < SUSPICION_MS;
}

/** The event of a suspicion, or undefined if it was told. @param suspectAt when there last was one, by Redis' clock */
export function suspectEvent(
  now: number,
  suspectAt: number | undefined,
  data: { reason: string; count: number; contactId?: string },
): NewEvent | undefined {
  if (isSuspect(suspectAt ?? 0, now)) return undefined;
  // Of two who find it out at once, both have seen the same suspicion before it.
  return { type: 'account.suspect', subject: 'suspect', revision: `after:${suspectAt ?? 0}`, data };
}

/** Decides about the messages that a complete read did not show. Pure. */
export function absences(input: AbsenceInput): AbsenceResult {
  const present = [...input.known].filter(([, { deleted }]) => !deleted);
  const missing = present.filter(([id]) => !input.seen.has(id));
  const tooMany = isTooMany(missing.length, present.length) && !input.believed;
  const { emptiedSince = Infinity } = input;
  const result: AbsenceResult = {
    known: new Map(),
    deleted: [],
    suspected: tooMany ? missing.length : 0,
    pending: missing.length > 0,
  };
  let waiting = 0;
  for (const [id, before] of missing) {
    if (input.unreadable) {
      waiting += 1;
    } else if (before.missingSince === undefined) {
      result.known.set(id, { ...before, missingSince: input.now });
      waiting += 1;
    } else if (tooMany || input.doubted || input.now - before.missingSince < input.apartMs) {
      waiting += 1;
    } else if (before.missingSince > emptiedSince) {
      // No other contact shows anything either: more likely an outage.
      result.suspected = missing.length;
      waiting += 1;
    } else {
      result.known.set(id, { ...found(before), deleted: true, revision: before.revision + 1 });
      result.deleted.push({ id, revision: before.revision });
    }
  }
  return { ...result, pending: waiting > 0 };
}

/** Whether so many of so many vanish together that an outage is the likelier cause. */
export function isTooMany(missing: number, of: number): boolean {
  return missing > FEW && missing > of * BELIEVED_PART;
}

/** What changed of something that is gone, and of something that returned. */
export const GONE = { deleted: { from: false, to: true } };
export const RETURNED = { deleted: { from: true, to: false } };

/**
 * The event of a deletion.
 * @param last the message's last form, as far as it is still kept
 * @param send which it is, if it is one of ours
 */
export function deletionEvent(
  contactId: string,
  { id, revision }: { id: string; revision: number },
  last: Readonly<Record<string, unknown>> | undefined,
  send: BoundSend | undefined,
): NewEvent {
  return {
    type: 'message.deleted',
    contactId,
    subject: messageSubject(contactId, id),
    revision: revision + 1,
    data: { contactId, message: last ?? { id }, ...send, changes: GONE },
  };
}

/** Without the mark of its absence. */
function found(known: KnownMessage): KnownMessage {
  const rest = { ...known };
  delete rest.missingSince;
  return rest;
}
