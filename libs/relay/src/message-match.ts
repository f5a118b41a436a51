import type { UpstreamMessage } from '#upstream';
import type { SendRecord } from './send-record.js';

/** A message and the send that it is. */
export interface Match {
  message: UpstreamMessage;
  record: SendRecord;
}

/** A message may be stamped so much before its POST began, for the clocks are known to a second or two at best. */
const CLOCK_SLACK_MS = 10_000;

/**
 * Which of the new outbound messages are which of the sends that wait for theirs: one to one, the oldest with the first
 * begun. Pure.
 *
 * Upstream gives sends no id, so a message is taken for a send by recipient, text, kind and time. Honest limit: an
 * identical text that another hand sends to the same person at that time may be taken for ours.
 *
 * @param messages to one recipient, oldest first, none of them seen before
 * @param waiting sends to that recipient, first begun first
 * @param upstreamAheadMs how far upstream's clock is ahead of the one that `begunAt` is of
 */
export function matchMessages(
  messages: readonly UpstreamMessage[],
  waiting: readonly SendRecord[],
  upstreamAheadMs: number,
): Match[] {
  const free = [...waiting];
  return messages.flatMap((message) => {
    const index = free.findIndex((record) => mayBe(message, record, upstreamAheadMs));
    const [record] = index < 0 ? [] : free.splice(index, 1);
    return record === undefined ? [] : [{ message, record }];
  });
}

function mayBe(message: UpstreamMessage, { order, state }: SendRecord, upstreamAheadMs: number): boolean {
  const earliest =
    (state.firstBegunAt ?? state.begunAt ?? order.createdAt) + upstreamAheadMs - CLOCK_SLACK_MS;
  if (message.timestamp !== undefined && message.timestamp < earliest) return false;
  const text = levelText(order.message ?? '');
  if (levelText(message.body) !== text) return false;
  // A text and its file may be shown as two messages: then the text is the one that is bound.
  const hasFile = order.file !== undefined || order.fileUrl !== undefined;
  return text === '' ? message.attachments > 0 : hasFile || message.attachments === 0;
}

const LEVELLED: readonly [RegExp, string][] = [
  [/\r\n?/g, '\n'],
  [/[\u2018\u2019\u201A\u201B]/g, "'"],
  [/[\u201C\u201D\u201E\u201F]/g, '"'],
  [/--|[\u2013\u2014]/g, '-'],
  [/\u2026/g, '...'],
  [/\u00A0/g, ' '],
];

/**
 * A text without what transports are known to rewrite: composed forms, line ends, typographic quotes and dashes, outer
 * blanks. Everything else stays, emoji above all: two different texts must not become equal.
 */
export function levelText(text: string): string {
  return LEVELLED.reduce(
    (level, [pattern, plain]) => level.replace(pattern, plain),
    text.normalize('NFC'),
  ).trim();
}
