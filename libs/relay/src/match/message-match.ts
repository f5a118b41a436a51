import type { UpstreamMessage } from '#upstream';
import { normalizeText } from './normalize-text.js';
import {
  CLOCK_SLACK_MS,
  startOfFirstUnmatchedPost,
  isMessageOverdue,
  matchedMessages,
  type SendRecord,
} from '../send/send-record.js';

/** A message and the send that it belongs to. */
export interface Match {
  message: UpstreamMessage;
  record: SendRecord;
}

export interface MatchResult {
  /** The matches, at most one per send. If a send has a second message, the next call returns that match. */
  matches: Match[];
  /** Sends for which several messages match equally well. */
  undecided: Undecided[];
}

/** A send, and the messages that match it equally well, oldest first. */
export interface Undecided {
  record: SendRecord;
  messages: UpstreamMessage[];
}

/** Maximum time by which a message's timestamp is usually earlier than the POST of the message, in milliseconds. */
const LIKELY_BEFORE_MS = 2_000;
/** Maximum time by which a message's timestamp is usually later than the POST of the message, in milliseconds. */
const LIKELY_AFTER_MS = 15_000;

/**
 * Finds out which new outbound message belongs to which waiting send. Each message belongs to at most one send. The
 * oldest message goes to the send that was posted first. Pure function.
 *
 * Upstream does not say which send a message belongs to. A message is therefore compared with a send by recipient,
 * text, number of attachments and time. Messages with the same text are matched as follows:
 *
 * - If there are equally many messages and sends, they are matched in order. Even if the order is wrong, each text is
 *   reported exactly once.
 * - If there are fewer messages than sends, sends whose message is still expected come before sends whose message is
 *   overdue. Of the overdue sends, the last posted comes first. Without this rule, every message after a text that
 *   upstream lost would be matched to the send before its own.
 * - If there are more messages than sends, messages with unlikely timestamps are ignored first. If there are still too
 *   many, a send that upstream accepted, or that is being posted, gets the oldest message. A send that upstream may not
 *   have accepted is returned in `undecided`.
 *
 * Upstream may show the text and the file of a send as two messages, or add an attachment to a message later. The text
 * message then counts as the send's message, unless another message has all attachments. Known limitation: if another
 * person sends the same text to the same recipient at that time, that message can be matched.
 * @param messages messages to one recipient that belong to no send yet, oldest first
 * @param waiting sends to that recipient that wait for their message
 * @param upstreamAheadMs time by which upstream's clock is ahead of Redis' clock, in milliseconds
 */
export function matchMessages(
  messages: readonly UpstreamMessage[],
  waiting: readonly SendRecord[],
  upstreamAheadMs: number,
): MatchResult {
  const slots = waiting.flatMap((record) => slotsOf(record, upstreamAheadMs)).sort((a, b) => a.from - b.from);
  const wanted = new Set(slots.map(({ text }) => text));
  const unmatched = new Map(messages.map((message) => [message, normalizeText(message.body)]));
  const found: Match[] = [];
  const undecided = new Map<SendRecord, Set<UpstreamMessage>>();
  for (const fits of [isWhole, isPart]) {
    for (const text of wanted) {
      for (const attachments of [2, 1, 0]) {
        const candidates = [...unmatched].flatMap(([message, level]) =>
          level === text && fits(message, text, attachments) ? [message] : [],
        );
        const open = slots.filter(
          (slot) => slot.text === text && slot.attachments === attachments && !slot.taken,
        );
        const paired = pair(candidates, open);
        for (const { message, slot } of paired.matches) {
          unmatched.delete(message);
          slot.taken = true;
          found.push({ message, record: slot.record });
        }
        for (const { message, slot, rivals } of paired.ambiguous) {
          unmatched.delete(message);
          slot.taken = true;
          undecided.set(slot.record, new Set([...(undecided.get(slot.record) ?? []), ...rivals]));
        }
      }
    }
  }
  const order = new Map(messages.map((message, i) => [message, i]));
  const positionOf = (message: UpstreamMessage): number => order.get(message) ?? 0;
  found.sort((a, b) => positionOf(a.message) - positionOf(b.message));
  const matches = found.filter(({ record }, i) => found.findIndex((one) => one.record === record) === i);
  return {
    matches,
    undecided: [...undecided].map(([record, rivals]) => ({
      record,
      messages: [...rivals].sort((a, b) => positionOf(a) - positionOf(b)),
    })),
  };
}

/** One message that a send is expected to have. A send that was posted twice has two slots. */
interface Slot {
  record: SendRecord;
  text: string;
  attachments: number;
  /** Start of the first POST whose message is not known, by upstream's clock, in milliseconds since 1970. */
  from: number;
  likelyUntil: number;
  /** 0: the message is expected; 1: the message is overdue; 2: the send already has a message. */
  rank: number;
  taken: boolean;
}

interface Pairing {
  message: UpstreamMessage;
  slot: Slot;
}

interface AmbiguousPairing extends Pairing {
  /** All messages that fit the slot, including the message of the pair. */
  rivals: UpstreamMessage[];
}

function slotsOf(record: SendRecord, aheadMs: number): Slot[] {
  const { order, state } = record;
  const bound = matchedMessages(state).length;
  const slot = {
    record,
    text: normalizeText(order.message ?? ''),
    attachments: Number(order.file !== undefined) + Number(order.fileUrl !== undefined),
    from: startOfFirstUnmatchedPost(record) + aheadMs,
    // If Redis lost the record of a POST, the time of the POST is not known, and every later time is likely.
    likelyUntil: (state.begunAt ?? Infinity) + aheadMs + LIKELY_AFTER_MS,
    rank: bound > 0 ? 2 : isMessageOverdue(state) ? 1 : 0,
  };
  const count = Math.max((state.copies ?? 0) - bound, 1);
  return Array.from({ length: count }, () => ({ ...slot, taken: false }));
}

function isWhole(message: UpstreamMessage, _: string, attachments: number): boolean {
  return message.attachments === attachments;
}

/**
 * Returns true if a message may be one part of a send: it has fewer attachments than the send. A message without
 * attachments is no part of a send without text.
 */
function isPart(message: UpstreamMessage, text: string, attachments: number): boolean {
  return message.attachments < attachments && (text !== '' || message.attachments > 0);
}

/**
 * Pairs messages with slots that have the same text and number of attachments. Both lists are ordered oldest first. A
 * pair is ambiguous if upstream may not have accepted the send, and another message also fits the slot.
 */
function pair(
  candidates: readonly UpstreamMessage[],
  open: readonly Slot[],
): { matches: Pairing[]; ambiguous: AmbiguousPairing[] } {
  const maxPairs = pairInOrder(candidates, open).length;
  const slots = likelierSlots(open, (less) => pairInOrder(candidates, less).length === maxPairs);
  let messages = [...candidates];
  for (const isUnlikely of [isEarly, isUnlikelyTime]) {
    const less = messages.filter((message) => !slots.every((slot) => isUnlikely(message, slot)));
    if (pairInOrder(less, slots).length === maxPairs) messages = less;
  }
  const pairs = pairInOrder(messages, slots);
  const others = messages.filter((message) => !pairs.some((pairing) => pairing.message === message));
  const isAmbiguous = ({ slot }: Pairing): boolean =>
    mayBeUnaccepted(slot.record) && others.some((message) => isLateEnough(message, slot));
  const matches = pairs.filter((one) => !isAmbiguous(one));
  const left = messages.filter((message) => !matches.some((one) => one.message === message));
  const ambiguous = pairs.filter(isAmbiguous).map((one) => ({
    ...one,
    rivals: left.filter((message) => isLateEnough(message, one.slot)),
  }));
  return { matches, ambiguous };
}

/**
 * Pairs messages with slots in order. A message gets the next free slot if its timestamp is not too early for the slot.
 * No other order yields more pairs.
 */
function pairInOrder(messages: readonly UpstreamMessage[], slots: readonly Slot[]): Pairing[] {
  const pairs: Pairing[] = [];
  for (const message of messages) {
    const slot = slots[pairs.length];
    if (slot !== undefined && isLateEnough(message, slot)) pairs.push({ message, slot });
  }
  return pairs;
}

/**
 * Removes slots that are unlikely to get a message, as long as enough slots remain. Slots of sends that already have a
 * message are removed first, then slots whose message is overdue. Of these, the slots of the sends that were posted
 * first are removed first.
 */
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

function isLateEnough({ timestamp }: UpstreamMessage, { from }: Slot): boolean {
  return timestamp === undefined || timestamp >= from - CLOCK_SLACK_MS;
}

function isEarly({ timestamp }: UpstreamMessage, { from }: Slot): boolean {
  return timestamp !== undefined && timestamp < from - LIKELY_BEFORE_MS;
}

function isUnlikelyTime(message: UpstreamMessage, slot: Slot): boolean {
  return isEarly(message, slot) || (message.timestamp ?? 0) > slot.likelyUntil;
}

/**
 * True if upstream may not have accepted the send. A send that is being posted counts as accepted. So does a send that
 * is queued for a resend, because posting it again would be worse than a wrong match.
 */
function mayBeUnaccepted({ state }: SendRecord): boolean {
  const isSearchedFor = state.status === 'relaying' && state.phase === 'looking';
  return isSearchedFor || ['unknown', 'failed', 'cancelled', 'expired'].includes(state.status);
}
