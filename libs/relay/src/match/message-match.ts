import type { UpstreamMessage } from '#upstream';
import { normalizeText } from './normalize-text.js';
import {
  UPSTREAM_CLOCK_TOLERANCE_MS,
  clockDifferenceRange,
  upstreamTimeOfFirstPostWithoutBoundMessage,
  isMessageOfSendOverdue,
  boundMessagesOf,
  type SendRecord,
} from '../send/send-record.js';

/** A message and the send that it belongs to. */
export interface Match {
  message: UpstreamMessage;
  record: SendRecord;
}

/** Result of {@link matchMessagesToSends}. */
export interface MatchResult {
  /**
   * The matches, at most one per send. A send that was posted twice has two messages. For the second match, record
   * the first match and call {@link matchMessagesToSends} again.
   */
  matches: Match[];
  /** Sends for which several messages match equally well. */
  undecided: UndecidedMatch[];
}

/** A send, and the messages that match it equally well, oldest first. */
export interface UndecidedMatch {
  record: SendRecord;
  messages: UpstreamMessage[];
}

/**
 * Time in milliseconds. A message whose timestamp is earlier than a send's POST by more than this time probably does
 * not belong to the send.
 */
const LIKELY_BEFORE_MS = 2_000;
/**
 * Time in milliseconds. A message whose timestamp is later than a send's POST by more than this time probably does
 * not belong to the send.
 */
const LIKELY_AFTER_MS = 15_000;

/**
 * Finds out which new outbound message belongs to which waiting send. A message belongs to at most one send. Pure
 * function.
 *
 * Upstream does not say which send a message belongs to. Messages and sends are therefore compared by recipient,
 * text, number of attachments and time. Messages and sends with the same text are matched in order, oldest first. If
 * their numbers differ, some are left out:
 *
 * - More sends than messages: sends that already have a message are left out first, then sends whose message is
 *   overdue (upstream probably lost it), each oldest first. Then sends without a recorded POST are left out, newest
 *   first, because the sends of a lane are posted in order, oldest first.
 * - More messages than sends: messages whose timestamps do not fit the sends are left out, then the newest messages.
 *
 * A send is returned in `undecided` if several messages fit it and upstream perhaps did not accept it.
 *
 * Upstream may show the text and the file of a send as two messages, or add an attachment to a message later. The
 * message with the text then counts as the send's message, unless another message has the text and all attachments.
 *
 * Known limitation: if a person sends the same text to the same recipient at about the same time without Tidings,
 * that person's message may be matched with the send.
 * @param messages messages to one recipient that belong to no send yet, oldest first
 * @param waiting sends to that recipient that wait for their message
 * @param upstreamAheadMs time by which upstream's clock is now ahead of Redis' clock, in milliseconds
 */
export function matchMessagesToSends(
  messages: readonly UpstreamMessage[],
  waiting: readonly SendRecord[],
  upstreamAheadMs: number,
): MatchResult {
  const expectedMessages = waiting
    .flatMap((record) => expectedMessagesOf(record, upstreamAheadMs))
    .sort((a, b) => a.from - b.from);
  const wanted = new Set(expectedMessages.map(({ text }) => text));
  const unmatched = new Map(messages.map((message) => [message, normalizeText(message.body)]));
  const found: Match[] = [];
  const undecided = new Map<SendRecord, Set<UpstreamMessage>>();
  for (const fits of [isWhole, isPart]) {
    for (const text of wanted) {
      for (const attachments of [2, 1, 0]) {
        const candidates = [...unmatched].flatMap(([message, level]) =>
          level === text && fits(message, text, attachments) ? [message] : [],
        );
        const open = expectedMessages.filter(
          (expected) => expected.text === text && expected.attachments === attachments && !expected.taken,
        );
        const paired = pair(candidates, open);
        for (const { message, expected } of paired.matches) {
          unmatched.delete(message);
          expected.taken = true;
          found.push({ message, record: expected.record });
        }
        for (const { message, expected, rivals } of paired.ambiguous) {
          unmatched.delete(message);
          expected.taken = true;
          undecided.set(expected.record, new Set([...(undecided.get(expected.record) ?? []), ...rivals]));
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

/** Value of {@link ExpectedMessage.rank} if no POST of the send is recorded. */
const UNPOSTED = 1;

/**
 * A message that upstream is expected to show for a send. A send has one expected message for each POST whose message
 * is not bound yet, and at least one.
 */
interface ExpectedMessage {
  record: SendRecord;
  text: string;
  attachments: number;
  /**
   * Earliest possible start of the first POST whose message is not bound yet, in milliseconds since 1970 by
   * upstream's clock (see {@link upstreamTimeOfFirstPostWithoutBoundMessage}).
   */
  from: number;
  likelyUntil: number;
  /**
   * How unlikely it is that a new message at upstream belongs to the send. 3: the send already has a message. 2: the
   * message is overdue. 1: no POST of the send is recorded. 0: none of these.
   */
  rank: number;
  taken: boolean;
}

interface Pairing {
  message: UpstreamMessage;
  expected: ExpectedMessage;
}

interface AmbiguousPairing extends Pairing {
  /** All messages that may be the message of the send, including `message`. */
  rivals: UpstreamMessage[];
}

function expectedMessagesOf(record: SendRecord, aheadMs: number): ExpectedMessage[] {
  const { order, state } = record;
  const bound = boundMessagesOf(state).length;
  const expected = {
    record,
    text: normalizeText(order.message ?? ''),
    attachments: Number(order.file !== undefined) + Number(order.fileUrl !== undefined),
    from: upstreamTimeOfFirstPostWithoutBoundMessage(record, aheadMs),
    // If Redis lost the record of a POST, the time of the POST is not known, so no timestamp counts as too late.
    likelyUntil: (state.begunAt ?? Infinity) + clockDifferenceRange(record, aheadMs).maxMs + LIKELY_AFTER_MS,
    rank: bound > 0 ? 3 : isMessageOfSendOverdue(state) ? 2 : state.begunAt === undefined ? UNPOSTED : 0,
  };
  const count = Math.max((state.copies ?? 0) - bound, 1);
  return Array.from({ length: count }, () => ({ ...expected, taken: false }));
}

function isWhole(message: UpstreamMessage, _: string, attachments: number): boolean {
  return message.attachments === attachments;
}

/**
 * Returns true if a message may be a part of a send: the message has fewer attachments than the send, and has a text
 * or an attachment.
 */
function isPart(message: UpstreamMessage, text: string, attachments: number): boolean {
  return message.attachments < attachments && (text !== '' || message.attachments > 0);
}

/**
 * Pairs messages with expected messages, oldest first (see {@link ExpectedMessage}). Leaves out unlikely messages and
 * unlikely expected messages if this does not reduce the number of pairs. A pair is ambiguous if two conditions are
 * both true: upstream perhaps did not accept the send, and a message without a pair also fits the send.
 */
function pair(
  candidates: readonly UpstreamMessage[],
  open: readonly ExpectedMessage[],
): { matches: Pairing[]; ambiguous: AmbiguousPairing[] } {
  const maxPairs = pairInOrder(candidates, open).length;
  const expectedMessages = likeliestMessages(
    open,
    (less) => pairInOrder(candidates, less).length === maxPairs,
  );
  let messages = [...candidates];
  for (const isUnlikely of [isEarly, isUnlikelyTime]) {
    const less = messages.filter(
      (message) => !expectedMessages.every((expected) => isUnlikely(message, expected)),
    );
    if (pairInOrder(less, expectedMessages).length === maxPairs) messages = less;
  }
  const pairs = pairInOrder(messages, expectedMessages);
  const others = messages.filter((message) => !pairs.some((pairing) => pairing.message === message));
  const isAmbiguous = ({ expected }: Pairing): boolean =>
    mayBeUnaccepted(expected.record) && others.some((message) => isLateEnough(message, expected));
  const matches = pairs.filter((one) => !isAmbiguous(one));
  const left = messages.filter((message) => !matches.some((one) => one.message === message));
  const ambiguous = pairs.filter(isAmbiguous).map((one) => ({
    ...one,
    rivals: left.filter((message) => isLateEnough(message, one.expected)),
  }));
  return { matches, ambiguous };
}

/**
 * Pairs messages with expected messages in order, oldest first (see {@link ExpectedMessage}). A message that is
 * clearly older than the POST of the next expected message is skipped.
 */
function pairInOrder(
  messages: readonly UpstreamMessage[],
  expectedMessages: readonly ExpectedMessage[],
): Pairing[] {
  const pairs: Pairing[] = [];
  for (const message of messages) {
    const expected = expectedMessages[pairs.length];
    if (expected !== undefined && isLateEnough(message, expected)) pairs.push({ message, expected });
  }
  return pairs;
}

/**
 * Returns the most likely expected messages (see {@link ExpectedMessage}). Leaves out each unlikely one if `isEnough`
 * accepts the others without it: first those of sends that already have a message, then the overdue ones, then those
 * of sends without a recorded POST, the newest first.
 */
function likeliestMessages(
  open: readonly ExpectedMessage[],
  isEnough: (expectedMessages: ExpectedMessage[]) => boolean,
): ExpectedMessage[] {
  let expectedMessages = [...open];
  for (const rank of [3, 2, UNPOSTED]) {
    const ofRank = open.filter((expected) => expected.rank === rank);
    for (const one of rank === UNPOSTED ? ofRank.toReversed() : ofRank) {
      const less = expectedMessages.filter((expected) => expected !== one);
      if (isEnough(less)) expectedMessages = less;
    }
  }
  return expectedMessages;
}

function isLateEnough({ timestamp }: UpstreamMessage, { from }: ExpectedMessage): boolean {
  return timestamp === undefined || timestamp >= from - UPSTREAM_CLOCK_TOLERANCE_MS;
}

function isEarly({ timestamp }: UpstreamMessage, { from }: ExpectedMessage): boolean {
  return timestamp !== undefined && timestamp < from - LIKELY_BEFORE_MS;
}

function isUnlikelyTime(message: UpstreamMessage, expected: ExpectedMessage): boolean {
  return isEarly(message, expected) || (message.timestamp ?? 0) > expected.likelyUntil;
}

/**
 * True if upstream perhaps did not accept the send. A send that is scheduled, queued or being posted counts as
 * accepted.
 */
function mayBeUnaccepted({ state }: SendRecord): boolean {
  const isLookedUp = state.status === 'relaying' && state.phase === 'looking';
  return isLookedUp || ['unknown', 'failed', 'cancelled', 'expired'].includes(state.status);
}
