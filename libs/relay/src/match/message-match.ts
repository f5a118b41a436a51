import type { UpstreamMessage } from '#upstream';
import { normalizeText } from './normalize-text.js';
import { boundMessages, isOverdue, type SendRecord } from '../send/send-record.js';

/** A message and the send that it is. */
export interface Match {
  message: UpstreamMessage;
  record: SendRecord;
}

export interface Matching {
  /** At most one a send; what a send is besides comes out when it is asked for with the rest. */
  matches: Match[];
  /** Sends that are one of several messages, or none of them: nobody can say which. */
  undecided: SendRecord[];
}

/** A message may be stamped so much before its POST began, for the clocks are known to a second or two at best. */
const CLOCK_SLACK_MS = 10_000;
/** Of several, the one is likelier that is stamped from so much before its POST began until so much after. */
const LIKELY_BEFORE_MS = 2_000;
const LIKELY_AFTER_MS = 15_000;

/**
 * Which of the new outbound messages are which of the sends that wait for theirs: one to one, the oldest with the first
 * begun. Pure.
 *
 * Upstream gives sends no id, so a message is taken for a send by recipient, text, number of attachments and time.
 *
 * - As many alike messages as sends are theirs, in order: whichever it was in truth, each recipient's text is told once.
 * - Fewer: rather those of sends that are still expected than of those whose time is over; of the latter the last begun,
 *   or a single text that upstream lost would shift all later ones of the same words by one.
 * - More: first those go that are stamped less likely. If there are still more, a send that upstream took, or is being
 *   handed to it, is the oldest of them: its state is true of any. Of a send that nobody knows to be taken, choosing
 *   would be a guess; it is `undecided`.
 *
 * Text and file may be shown as two messages, and an attachment later than its text: then the text is the send, if no
 * message with all attachments is there. Honest limit: an identical text that another hand sends to the same person at
 * that time may be taken for ours.
 *
 * @param messages to one recipient, oldest first, none of them anybody's
 * @param waiting sends to that recipient
 * @param upstreamAheadMs how far upstream's clock is ahead of the one that `begunAt` is of
 */
export function matchMessages(
  messages: readonly UpstreamMessage[],
  waiting: readonly SendRecord[],
  upstreamAheadMs: number,
): Matching {
  const slots = waiting.flatMap((record) => slotsOf(record, upstreamAheadMs)).sort((a, b) => a.from - b.from);
  const wanted = new Set(slots.map(({ text }) => text));
  const left = new Map(messages.map((message) => [message, normalizeText(message.body)]));
  const found: Match[] = [];
  const undecided = new Set<SendRecord>();
  for (const fits of [isWhole, isPart]) {
    for (const text of wanted) {
      for (const attachments of [2, 1, 0]) {
        const candidates = [...left].flatMap(([message, level]) =>
          level === text && fits(message, text, attachments) ? [message] : [],
        );
        const open = slots.filter(
          (slot) => slot.text === text && slot.attachments === attachments && !slot.taken,
        );
        const paired = pair(candidates, open);
        for (const { message, slot } of paired.matches) {
          left.delete(message);
          slot.taken = true;
          found.push({ message, record: slot.record });
        }
        for (const { message, slot } of paired.guesses) {
          left.delete(message);
          slot.taken = true;
          undecided.add(slot.record);
        }
      }
    }
  }
  const order = new Map(messages.map((message, i) => [message, i]));
  found.sort((a, b) => (order.get(a.message) ?? 0) - (order.get(b.message) ?? 0));
  const matches = found.filter(({ record }, i) => found.findIndex((one) => one.record === record) === i);
  return { matches, undecided: [...undecided] };
}

/** Room for one message of a send; one that was posted twice has two. */
interface Slot {
  record: SendRecord;
  text: string;
  attachments: number;
  /** By upstream's clock: when its first POST began of which no message is known, and until when its message is likely. */
  from: number;
  likelyUntil: number;
  /** 0: its message is expected; 1: its time is over; 2: it has a message already. */
  rank: number;
  taken: boolean;
}

interface Pairing {
  message: UpstreamMessage;
  slot: Slot;
}

function slotsOf(record: SendRecord, aheadMs: number): Slot[] {
  const { order, state } = record;
  const bound = boundMessages(state).length;
  const slot = {
    record,
    text: normalizeText(order.message ?? ''),
    attachments: Number(order.file !== undefined) + Number(order.fileUrl !== undefined),
    from: (state.firstBegunAt ?? state.begunAt ?? order.createdAt) + aheadMs,
    // When one was posted that Redis forgot is not known.
    likelyUntil: (state.begunAt ?? Infinity) + aheadMs + LIKELY_AFTER_MS,
    rank: bound > 0 ? 2 : isOverdue(state) ? 1 : 0,
  };
  const count = Math.max((state.copies ?? 0) - bound, 1);
  return Array.from({ length: count }, () => ({ ...slot, taken: false }));
}

function isWhole(message: UpstreamMessage, _: string, attachments: number): boolean {
  return message.attachments === attachments;
}

/** An attachment alone is not taken for a send that has a text, nor an empty message for one that has none. */
function isPart(message: UpstreamMessage, text: string, attachments: number): boolean {
  return message.attachments < attachments && (text !== '' || message.attachments > 0);
}

/** Messages and slots that differ in nothing but their time; both oldest first. */
function pair(
  candidates: readonly UpstreamMessage[],
  open: readonly Slot[],
): { matches: Pairing[]; guesses: Pairing[] } {
  const most = pairInOrder(candidates, open).length;
  const slots = likelierSlots(open, (less) => pairInOrder(candidates, less).length === most);
  let messages = [...candidates];
  for (const isUnlikely of [isEarly, isUnlikelyTime]) {
    const less = messages.filter((message) => !slots.every((slot) => isUnlikely(message, slot)));
    if (pairInOrder(less, slots).length === most) messages = less;
  }
  const pairs = pairInOrder(messages, slots);
  const others = messages.filter((message) => !pairs.some((one) => one.message === message));
  const isGuess = ({ slot }: Pairing): boolean =>
    mayNotBeTaken(slot.record) && others.some((message) => isInTime(message, slot));
  return { matches: pairs.filter((one) => !isGuess(one)), guesses: pairs.filter(isGuess) };
}

/** As many pairs as can be: each message takes the first slot that is left, which is the one that asks least of it. */
function pairInOrder(messages: readonly UpstreamMessage[], slots: readonly Slot[]): Pairing[] {
  const pairs: Pairing[] = [];
  for (const message of messages) {
    const slot = slots[pairs.length];
    if (slot !== undefined && isInTime(message, slot)) pairs.push({ message, slot });
  }
  return pairs;
}

/** Without the less likely ones, the first begun first, as long as that is enough. */
function likelierSlots(open: readonly Slot[], isEnough: (slots: Slot[]) => boolean): Slot[] {
  let slots = [...open];
  for (const rank of [2, 1]) {
    for (const one of open.filter((slot) => slot.rank === rank)) {
      const less = slots.filter((slot) => slot !== one);
      if (isEnough(less)) slots = less;
    }
  }
  return slots;
}

function isInTime({ timestamp }: UpstreamMessage, { from }: Slot): boolean {
  return timestamp === undefined || timestamp >= from - CLOCK_SLACK_MS;
}

function isEarly({ timestamp }: UpstreamMessage, { from }: Slot): boolean {
  return timestamp !== undefined && timestamp < from - LIKELY_BEFORE_MS;
}

function isUnlikelyTime(message: UpstreamMessage, slot: Slot): boolean {
  return isEarly(message, slot) || (message.timestamp ?? 0) > slot.likelyUntil;
}

/**
 * Whether nobody knows that upstream took it. One that is being posted is not doubtful yet, and of one that waits to be
 * posted again the safe answer is that it is there.
 */
function mayNotBeTaken({ state }: SendRecord): boolean {
  const isLooked = state.status === 'relaying' && state.phase === 'looking';
  return isLooked || ['unknown', 'failed', 'cancelled', 'expired'].includes(state.status);
}
