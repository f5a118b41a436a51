import type { UpstreamMessage } from '#upstream';
import { levelText } from './level-text.js';
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
  const places = waiting
    .flatMap((record) => placesOf(record, upstreamAheadMs))
    .sort((a, b) => a.from - b.from);
  const wanted = new Set(places.map(({ text }) => text));
  const left = new Map(messages.map((message) => [message, levelText(message.body)]));
  const found: Match[] = [];
  const undecided = new Set<SendRecord>();
  for (const fits of [isWhole, isPart]) {
    for (const text of wanted) {
      for (const attachments of [2, 1, 0]) {
        const candidates = [...left].flatMap(([message, level]) =>
          level === text && fits(message, text, attachments) ? [message] : [],
        );
        const open = places.filter(
          (place) => place.text === text && place.attachments === attachments && !place.taken,
        );
        const paired = pair(candidates, open);
        for (const { message, place } of paired.matches) {
          left.delete(message);
          place.taken = true;
          found.push({ message, record: place.record });
        }
        for (const { message, place } of paired.guesses) {
          left.delete(message);
          place.taken = true;
          undecided.add(place.record);
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
interface Place {
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
  place: Place;
}

function placesOf(record: SendRecord, aheadMs: number): Place[] {
  const { order, state } = record;
  const bound = boundMessages(state).length;
  const place = {
    record,
    text: levelText(order.message ?? ''),
    attachments: Number(order.file !== undefined) + Number(order.fileUrl !== undefined),
    from: (state.firstBegunAt ?? state.begunAt ?? order.createdAt) + aheadMs,
    // When one was posted that Redis forgot is not known.
    likelyUntil: (state.begunAt ?? Infinity) + aheadMs + LIKELY_AFTER_MS,
    rank: bound > 0 ? 2 : isOverdue(state) ? 1 : 0,
  };
  const count = Math.max((state.copies ?? 0) - bound, 1);
  return Array.from({ length: count }, () => ({ ...place, taken: false }));
}

function isWhole(message: UpstreamMessage, _: string, attachments: number): boolean {
  return message.attachments === attachments;
}

/** An attachment alone is not taken for a send that has a text, nor an empty message for one that has none. */
function isPart(message: UpstreamMessage, text: string, attachments: number): boolean {
  return message.attachments < attachments && (text !== '' || message.attachments > 0);
}

/** Messages and places that differ in nothing but their time; both oldest first. */
function pair(
  candidates: readonly UpstreamMessage[],
  open: readonly Place[],
): { matches: Pairing[]; guesses: Pairing[] } {
  const most = inOrder(candidates, open).length;
  const places = likelierPlaces(open, (less) => inOrder(candidates, less).length === most);
  let messages = [...candidates];
  for (const isUnlikely of [isEarly, isUntimely]) {
    const less = messages.filter((message) => !places.every((place) => isUnlikely(message, place)));
    if (inOrder(less, places).length === most) messages = less;
  }
  const pairs = inOrder(messages, places);
  const others = messages.filter((message) => !pairs.some((one) => one.message === message));
  const isGuess = ({ place }: Pairing): boolean =>
    isDoubtful(place.record) && others.some((message) => isInTime(message, place));
  return { matches: pairs.filter((one) => !isGuess(one)), guesses: pairs.filter(isGuess) };
}

/** As many pairs as can be: each message takes the first place that is left, which is the one that asks least of it. */
function inOrder(messages: readonly UpstreamMessage[], places: readonly Place[]): Pairing[] {
  const pairs: Pairing[] = [];
  for (const message of messages) {
    const place = places[pairs.length];
    if (place !== undefined && isInTime(message, place)) pairs.push({ message, place });
  }
  return pairs;
}

/** Without the less likely ones, the first begun first, as long as that is enough. */
function likelierPlaces(open: readonly Place[], isEnough: (places: Place[]) => boolean): Place[] {
  let places = [...open];
  for (const rank of [2, 1]) {
    for (const one of open.filter((place) => place.rank === rank)) {
      const less = places.filter((place) => place !== one);
      if (isEnough(less)) places = less;
    }
  }
  return places;
}

function isInTime({ timestamp }: UpstreamMessage, { from }: Place): boolean {
  return timestamp === undefined || timestamp >= from - CLOCK_SLACK_MS;
}

function isEarly({ timestamp }: UpstreamMessage, { from }: Place): boolean {
  return timestamp !== undefined && timestamp < from - LIKELY_BEFORE_MS;
}

function isUntimely(message: UpstreamMessage, place: Place): boolean {
  return isEarly(message, place) || (message.timestamp ?? 0) > place.likelyUntil;
}

/**
 * Whether nobody knows that upstream took it. One that is being posted is not doubtful yet, and of one that waits to be
 * posted again the safe answer is that it is there.
 */
function isDoubtful({ state }: SendRecord): boolean {
  const isLooked = state.status === 'relaying' && state.phase === 'looking';
  return isLooked || ['unknown', 'failed', 'cancelled', 'expired'].includes(state.status);
}
