import {
  RowMessageCollector,
  NO_ROW_UPDATE,
  previewOf,
  type RowEntry,
  type RowMessage,
  type RowUpdate,
} from '#conversations';
import type { NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { BoundSend } from '../ports.js';
import type { FullRead } from '../walk/pages-read.js';

/**
 * What a commit records about a contact. The changes of the contact's conversation row are computed from this data.
 */
export interface RowUpdateInput {
  /**
   * False if the contact has no row yet. The commit then creates the row from all messages that the read
   * returned.
   */
  hasRow: boolean;
  /** True if the commit starts a new baseline. */
  isResync: boolean;
  /** True if the commit ends a resync. */
  endsResync: boolean;
  /** Messages that the committed read returned. */
  observed: readonly UpstreamMessage[];
  /**
   * What the contact's snapshot contained about the messages of {@link observed} before the commit, by message
   * id.
   */
  before: ReadonlyMap<string, KnownMessage>;
  /** Snapshots of new and changed messages that the commit stores, by message id. */
  changed: ReadonlyMap<string, KnownMessage>;
  /** Events of the commit. */
  events: readonly NewEvent[];
  /** The sends that some of the observed messages belong to, by message id. */
  sends: ReadonlyMap<string, BoundSend>;
  /**
   * The {@link sends} whose messages were found by an earlier read that could not be committed. The conversation row
   * may still contain them as sends without a message.
   */
  uncommittedSends: ReadonlyMap<string, BoundSend>;
  /** Messages for which the commit emits `message.deleted`. */
  deleted: readonly { id: string }[];
  fullRead: FullRead | undefined;
  clock: MessageClock;
}

/** Data for converting the timestamp of a message from upstream's clock to Redis' clock. */
export interface MessageClock {
  /** When the read that returned the message began, in milliseconds since 1970 by Redis' clock. */
  now: number;
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds. */
  upstreamAheadMs: number;
}

/**
 * Timestamps are corrected only if upstream's clock is ahead of Redis' clock by at least this time, in
 * milliseconds. A smaller difference may be a rounding error of the `Date` header.
 */
const MIN_DIFFERENCE_MS = 1_500;

/** Returns the changes of a contact's conversation row that a commit causes. Pure function. */
export function conversationRowUpdateOf(input: RowUpdateInput): RowUpdate {
  const entries: RowEntry[] = [
    ...(input.isResync ? [{ kind: 'reset' } as const] : []),
    ...messagesOf(input),
    ...changedTexts(input),
    ...boundSends(input),
    ...input.deleted.map(({ id }) => ({ kind: 'deleted', id }) as const),
    ...allMessages(input),
  ];
  if (entries.length === 0 && input.hasRow) return NO_ROW_UPDATE;
  return { entries, isNew: !input.hasRow };
}

/**
 * Returns the row changes for new and reappeared messages; or, if the contact has no row yet or the commit starts a
 * new baseline, for all messages that were read. Only the change for the latest message contains a preview.
 */
function messagesOf({
  hasRow,
  isResync,
  observed,
  before,
  changed,
  events,
  sends,
  clock,
}: RowUpdateInput): RowEntry[] {
  const isAll = !hasRow || isResync;
  const rowMessages = new RowMessageCollector();
  const found = observed.filter(({ id }) => isAll || (changed.has(id) && before.get(id)?.deleted !== false));
  if (found.length === 0) return [];
  const received = receivedIds(events);
  const messages = found.map((message): RowMessage => {
    const isNew = !before.has(message.id);
    const row = toConversationRowMessage(message, isNew ? { ...clock, upstreamAheadMs: 0 } : clock, isNew);
    const sendId = sends.get(message.id)?.sendId;
    return {
      ...row,
      ...(received.has(message.id) ? { isUnread: true } : {}),
      ...(sendId === undefined ? {} : { sendId }),
    };
  });
  for (const message of messages) rowMessages.add(message);
  return messages.map((message) => {
    const { preview, ...rest } = message;
    return {
      kind: 'message',
      message: preview === undefined || message !== rowMessages.last ? rest : { ...rest, preview },
    };
  });
}

/**
 * Returns the ids of the inbound messages that the events report as new. Converts ids that are numbers to
 * strings.
 */
function receivedIds(events: readonly NewEvent[]): ReadonlySet<string> {
  return new Set(
    events.flatMap(({ type, data }) =>
      type === 'message.received' ? String((data.message as { id: unknown }).id) : [],
    ),
  );
}

function changedTexts({ hasRow, isResync, observed, before, changed }: RowUpdateInput): RowEntry[] {
  if (!hasRow || isResync) return [];
  return observed.flatMap(({ id, body }) =>
    changed.has(id) && before.get(id)?.deleted === false
      ? { kind: 'text', id, preview: previewOf(body) }
      : [],
  );
}

/**
 * Returns the row changes for known messages that were bound to a send. These changes remove the send from the row,
 * because the row already contains the message of the send.
 */
function boundSends({
  hasRow,
  isResync,
  observed,
  before,
  changed,
  sends,
  uncommittedSends,
  clock,
}: RowUpdateInput): RowEntry[] {
  if (!hasRow || isResync) return [];
  return observed.flatMap((message): RowEntry[] => {
    const sendId = sends.get(message.id)?.sendId;
    const mayBeShown = changed.has(message.id) || uncommittedSends.has(message.id);
    const isKnown = mayBeShown && before.get(message.id)?.deleted === false;
    const { phoneNumber } = toConversationRowMessage(message, clock, false);
    return !isKnown || sendId === undefined || phoneNumber === undefined
      ? []
      : [{ kind: 'bound', sendId, phoneNumber }];
  });
}

/**
 * After a stable read of all pages, returns row entries for the collected messages (see `RowMessageCollector`); if
 * the commit ends a resync, these entries replace the row's earlier messages. After other reads, returns no entries.
 */
function allMessages({ fullRead, endsResync }: RowUpdateInput): RowEntry[] {
  if (fullRead?.isStable !== true) return [];
  const { rowMessages, startedAt } = fullRead;
  return [...(endsResync ? [{ kind: 'replace', upTo: startedAt } as const] : []), ...rowMessages.entries()];
}

/** A phone number in E.164 form. The sender or recipient of a message may also be a mail address. */
const PHONE_NUMBER = /^\+\d{5,15}$/;

/**
 * Converts a message to the form that a row contains. The time of the message is its timestamp, converted to Redis'
 * clock, but never later than the read. Without a timestamp, the time is that of the read if the message is new, and
 * 0 otherwise.
 * @param isNew true if no earlier read has returned the message
 */
export function toConversationRowMessage(
  { id, direction, timestamp, from, to, body }: UpstreamMessage,
  { now, upstreamAheadMs }: MessageClock,
  isNew: boolean,
): RowMessage {
  const number = direction === 'outbound' ? to : direction === 'inbound' ? from : undefined;
  const sentAt = timestamp ?? (isNew ? now : 0);
  return {
    id,
    direction,
    at: Math.min(upstreamAheadMs < MIN_DIFFERENCE_MS ? sentAt : sentAt - upstreamAheadMs, now),
    ...(number !== undefined && PHONE_NUMBER.test(number) ? { phoneNumber: number } : {}),
    preview: previewOf(body),
  };
}
