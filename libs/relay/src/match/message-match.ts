import type { UpstreamMessage } from '#upstream';
import { normalizeText } from './normalize-text.js';
import { matchedMessages, isOverdue, type SendRecord } from '../send/send-record.js';

/** A message and the send that it belongs to. */
export interface Match {
  message: UpstreamMessage;
  record: SendRecord;
}

export interface MatchResult {
  /** The matches, at most one per send. A further message of the same send matches in the next call. */
  matches: Match[];
  /** Sends that match several messages equally well. */
  undecided: SendRecord[];
}

/**
 * Maximum time by which a message's timestamp may precede its POST, in milliseconds. The clocks are compared only to a
 * second or two.
 */
const CLOCK_SLACK_MS = 10_000;
/** Time window around the POST in which a timestamp is likely, in milliseconds. */
const LIKELY_BEFORE_MS = 2_000;
const LIKELY_AFTER_MS = 15_000;

/**
 * Matches new outbound messages to waiting sends: one to one, the oldest message to the first posted send. Pure.
 *
 * Upstream gives sends no id. A message matches a send by recipient, text, number of attachments and time.
 *
 * - As many identical messages as sends: they match in order. If two are swapped, each text is still reported once.
 * - Fewer messages: sends whose message is still expected come before overdue sends. Among overdue sends the last
 *   posted comes first. Otherwise a text that upstream lost would shift every later match of the same text.
 * - More messages: those with unlikely timestamps are ignored first. If too many remain, a send that upstream accepted,
 *   or that is being posted, matches the oldest. A send that upstream may not have accepted is `undecided`.
 *
 * Upstream may show text and file as two messages, or an attachment after its text. The text then is the send, unless a
 * message with all attachments exists. Known limit: an identical text that another person sends to the same recipient
 * at that time can be matched.
 * @param messages messages to one recipient, oldest first, that belong to no send
 * @param waiting sends to that recipient
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
  const undecided = new Set<SendRecord>();
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
        for (const { message, slot } of paired.ambiguous) {
          unmatched.delete(message);
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

/** A slot for one message of a send. A send that was posted twice has two slots. */
interface Slot {
  record: SendRecord;
  text: string;
  attachments: number;
  /** Start of the first POST without a known message, by upstream's clock, in milliseconds since 1970. */
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

function slotsOf(record: SendRecord, aheadMs: number): Slot[] {
  const { order, state } = record;
  const bound = matchedMessages(state).length;
  const slot = {
    record,
    text: normalizeText(order.message ?? ''),
    attachments: Number(order.file !== undefined) + Number(order.fileUrl !== undefined),
    from: (state.firstBegunAt ?? state.begunAt ?? order.createdAt) + aheadMs,
    // The time of a POST that Redis lost is not known.
    likelyUntil: (state.begunAt ?? Infinity) + aheadMs + LIKELY_AFTER_MS,
    rank: bound > 0 ? 2 : isOverdue(state) ? 1 : 0,
  };
  const count = Math.max((state.copies ?? 0) - bound, 1);
  return Array.from({ length: count }, () => ({ ...slot, taken: false }));
}

function isWhole(message: UpstreamMessage, _: string, attachments: number): boolean {
  return message.attachments === attachments;
}

/** Returns false for an attachment alone if the send has a text, and for an empty message if the send has no text. */
function isPart(message: UpstreamMessage, text: string, attachments: number): boolean {
  return message.attachments < attachments && (text !== '' || message.attachments > 0);
}

/**
 * Pairs messages with slots of equal text and attachments. Both lists are ordered oldest first. An ambiguous pair is one that
 * other messages could form equally well.
 */
function pair(
  candidates: readonly UpstreamMessage[],
  open: readonly Slot[],
): { matches: Pairing[]; ambiguous: Pairing[] } {
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
  return { matches: pairs.filter((one) => !isAmbiguous(one)), ambiguous: pairs.filter(isAmbiguous) };
}

/**
 * Pairs messages with slots in order. Each message takes the first free slot that allows its timestamp, so that as many
 * pairs as possible result.
 */
function pairInOrder(messages: readonly UpstreamMessage[], slots: readonly Slot[]): Pairing[] {
  const pairs: Pairing[] = [];
  for (const message of messages) {
    const slot = slots[pairs.length];
    if (slot !== undefined && isLateEnough(message, slot)) pairs.push({ message, slot });
  }
  return pairs;
}

/** Returns the slots without unlikely slots, as long as enough slots remain. The first posted are removed first. */
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
 * True if upstream may not have accepted the send. A send that is being posted counts as accepted. A send that is
 * queued for a resend counts as accepted too, because a second POST would be worse.
 */
function mayBeUnaccepted({ state }: SendRecord): boolean {
  const isSearchedFor = state.status === 'relaying' && state.phase === 'looking';
  return isSearchedFor || ['unknown', 'failed', 'cancelled', 'expired'].includes(state.status);
}
