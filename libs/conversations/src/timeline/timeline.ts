import type { PlacedMessage } from './connected-pages.js';
import { UnsortedMessageListCache } from './unsorted-message-list-reader.js';
import {
  TIMELINE_START,
  MAX_REQUESTS_PER_TIMELINE_PAGE,
  TIMELINE_PAGE_READ_TIME_LIMIT_MS,
  TimelineMessageReader,
  type TimelineMessageReaderPorts,
  type MessagesFound,
  NO_MESSAGES,
} from './timeline-message-reader.js';
import { comparePositions, newerPosition, type Position } from '../position.js';
import type {
  CommittedMessageState,
  SendOfMessage,
  TimelineClock,
  TimelineConversation,
  TimelineEntry,
  TimelineSend,
  TimelineSends,
} from './ports.js';
import {
  timelinePlacementOfSend,
  type PlacementContext,
  isMessageShownAtSendPosition,
} from './send-placement.js';
import { readSendsOfConversation, type SendsFound } from './sends-walk.js';
import { formatTimelineCursor, type TimelineCursor } from './timeline-cursor.js';

export { MAX_REQUESTS_PER_TIMELINE_PAGE, TIMELINE_PAGE_READ_TIME_LIMIT_MS };

/**
 * Maximum size of the entries of a page, in characters of JSON. Without this limit, a few callers that read pages of
 * long texts could use up the memory of the process. The first entry of a page is returned even if it is larger.
 */
const MAX_PAGE_CHARACTERS = 4_000_000;

/** What a timeline reads from. */
export interface TimelinePorts<S> extends TimelineMessageReaderPorts {
  sends: TimelineSends<S>;
  clock: TimelineClock;
}

/** A page of a timeline. */
export interface TimelinePage<S> {
  /**
   * Entries, newest first. There may be fewer entries than the limit, or none, even if more entries follow on the
   * next page.
   */
  entries: readonly TimelineEntry<S>[];
  /** Cursor of the next page. Undefined on the last page, and if {@link isPartial} is true. */
  next: string | undefined;
  /**
   * Cursor of the end of the event log at the time when the reading of this page began. The events after this cursor
   * report what has changed since then.
   */
  after: string;
  /**
   * True if upstream's messages could not be read, or are unsorted and too many to be sorted in memory. The page then
   * has only sends, and the first page also the preview of the last message.
   */
  isPartial: boolean;
}

/**
 * Merges a conversation's messages and sends into one list, newest first, whatever the order of upstream's
 * list. If a caller reads page after page from the newest entry to the oldest, each entry that exists all the
 * time is returned exactly once, even if messages appear, disappear or are bound to sends meanwhile.
 */
export class Timeline<S> {
  private readonly source: TimelineMessageReader;

  /** @param now monotonic clock, in milliseconds */
  constructor(
    private readonly ports: TimelinePorts<S>,
    readings = new UnsortedMessageListCache(),
    now: () => number = () => performance.now(),
  ) {
    this.source = new TimelineMessageReader(ports, readings, now);
  }

  /**
   * Returns one page. Makes at most {@link MAX_REQUESTS_PER_TIMELINE_PAGE} upstream requests. Only the first
   * request may begin later than {@link TIMELINE_PAGE_READ_TIME_LIMIT_MS} after the start of this call.
   */
  async read(
    account: string,
    conversation: TimelineConversation,
    limit: number,
    cursor?: TimelineCursor,
  ): Promise<TimelinePage<S>> {
    const after = await this.ports.events.end(account);
    const start = cursor ?? { startedAt: await this.ports.clock.now(account) };
    const found = await this.messagesOf(account, conversation, start, limit);
    if (found.edge === TIMELINE_START) {
      const next = formatTimelineCursor({ startedAt: start.startedAt, ...found.cursorFieldsAt(undefined) });
      return { entries: [], next, after, isPartial: false };
    }
    const { entries, sends } = await this.merge(account, conversation, start, limit, found);
    const edge = newerPosition(found.edge, sends.edge);
    const shown = entries.filter(
      ({ position }) =>
        (start.position === undefined || comparePositions(position, start.position) < 0) &&
        (edge === undefined || comparePositions(position, edge) >= 0),
    );
    shown.sort((a, b) => comparePositions(b.position, a.position));
    const page = shown.slice(0, countFitting(shown, limit));
    const isPartial = found.isUnavailable;
    const nextPosition = shown.length > page.length ? page.at(-1)?.position : edge;
    if (nextPosition === undefined || isPartial) return { entries: page, next: undefined, after, isPartial };
    const next = nextCursor(start, nextPosition, found, sends);
    return { entries: page, next: formatTimelineCursor(next), after, isPartial };
  }

  private async messagesOf(
    account: string,
    { contactId, last }: TimelineConversation,
    cursor: TimelineCursor,
    limit: number,
  ): Promise<MessagesFound> {
    if (contactId === undefined) return NO_MESSAGES;
    const found = await this.source.read(account, contactId, cursor, limit);
    if (!found.isUnavailable || last === undefined || cursor.position !== undefined) return found;
    return { ...found, messages: [previewOf(last)] };
  }

  /**
   * Returns the entries of the messages and sends, in no particular order.
   *
   * A message is bound to its send before the message is committed (stored with its events). So this method
   * first reads which messages are committed, and then the sends. If the sends were read first, a committed
   * message could seem to belong to no send.
   */
  private async merge(
    account: string,
    { contactId, phoneNumbers }: TimelineConversation,
    { position: from, startedAt, sendsBefore: before }: TimelineCursor,
    limit: number,
    { messages, edge, isUnavailable }: MessagesFound,
  ): Promise<{ entries: TimelineEntry<S>[]; sends: SendsFound<S> }> {
    const committed = await this.committedOf(account, contactId, messages, !isUnavailable);
    const present = messages.filter(({ message }) => committed.get(message.id) === 'present');
    const until = present[limit - 1]?.position.at ?? edge?.at ?? -Infinity;
    const sendIds = await this.sendIdsOf(account, contactId, present);
    const range = { phoneNumbers, from, until, count: limit + 1, before, startedAt };
    const sends = await readSendsOfConversation(this.ports.sends, account, range);
    const all = await this.withClaimed(account, sends.sends, sendIds);
    const context: PlacementContext = {
      ...{ startedAt, contactId, phoneNumbers: new Set(phoneNumbers) },
      committed: await this.committedSends(account, contactId, all, { messages, committed }),
      messages: new Map(present.map(({ message }) => [message.id, message])),
    };
    const moved = new Set<string>();
    for (const send of all.values())
      if (send.message?.contactId === contactId && isMessageShownAtSendPosition(send, context))
        moved.add(send.message?.messageId ?? '');
    const entries = [
      ...present
        .filter(({ message }) => !moved.has(message.id))
        .map(({ position, message }): TimelineEntry<S> => {
          const send = all.get(sendIds.get(message.id) ?? '');
          return { kind: 'message', position, message: message.raw, send: send ? summaryOf(send) : null };
        }),
      ...[...all.values()].flatMap((send) => entryOf(send, context)),
    ];
    return { entries, sends };
  }

  private async committedOf(
    account: string,
    contactId: string | undefined,
    messages: readonly PlacedMessage[],
    makesDue: boolean,
  ): Promise<ReadonlyMap<string, CommittedMessageState>> {
    if (contactId === undefined || messages.length === 0) return new Map();
    const ids = messages.map(({ message }) => message.id);
    const committed = await this.ports.feed.committed(account, contactId, ids);
    if (makesDue && ids.some((id) => !committed.has(id))) await this.ports.feed.makeDue(account, contactId);
    return committed;
  }

  private async sendIdsOf(
    account: string,
    contactId: string | undefined,
    messages: readonly PlacedMessage[],
  ): Promise<ReadonlyMap<string, string>> {
    if (contactId === undefined || messages.length === 0) return new Map();
    return this.ports.sends.sendIdsOf(
      account,
      contactId,
      messages.map(({ message }) => message.id),
    );
  }

  /** Returns the sends in `sends`, and the stored sends whose ids are values of `sendIds`, by their ids. */
  private async withClaimed(
    account: string,
    sends: ReadonlyMap<string, TimelineSend<S>>,
    sendIds: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, TimelineSend<S>>> {
    const missing = [...new Set(sendIds.values())].filter((id) => !sends.has(id));
    if (missing.length === 0) return sends;
    const found = await this.ports.sends.byIds(account, missing);
    return new Map([...sends, ...found.map((send) => [send.id, send] as const)]);
  }

  /**
   * Returns a function that says what the contact's snapshot contains about the message of a send: see
   * {@link PlacementContext.committed}. For messages in `page.messages`, the answer is taken from `page.committed`.
   */
  private async committedSends(
    account: string,
    contactId: string | undefined,
    sends: ReadonlyMap<string, TimelineSend<S>>,
    page: { messages: readonly PlacedMessage[]; committed: ReadonlyMap<string, CommittedMessageState> },
  ): Promise<PlacementContext['committed']> {
    const onPage = new Set(page.messages.map(({ message }) => message.id));
    const wanted = new Map<string, string[]>();
    for (const { message } of sends.values()) {
      if (message === undefined || (message.contactId === contactId && onPage.has(message.messageId)))
        continue;
      const ids = wanted.get(message.contactId);
      if (ids === undefined) wanted.set(message.contactId, [message.messageId]);
      else ids.push(message.messageId);
    }
    const read = new Map<string, ReadonlyMap<string, CommittedMessageState>>();
    for (const [id, messageIds] of wanted)
      read.set(id, await this.ports.feed.committed(account, id, messageIds));
    return (message) =>
      message.contactId === contactId && onPage.has(message.messageId)
        ? page.committed.get(message.messageId)
        : read.get(message.contactId)?.get(message.messageId);
  }
}

/** Returns how many entries fit on a page: at least one if there is one, and at most `limit`. */
function countFitting(entries: readonly TimelineEntry<unknown>[], limit: number): number {
  let characters = 0;
  const excess = entries.findIndex((entry, i) => {
    characters += JSON.stringify(entry.kind === 'send' ? entry.send : entry.message).length;
    return i === limit || (i > 0 && characters > MAX_PAGE_CHARACTERS);
  });
  return excess < 0 ? entries.length : excess;
}

function entryOf<S>(send: TimelineSend<S>, context: PlacementContext): TimelineEntry<S>[] {
  const placement = timelinePlacementOfSend(send, context);
  switch (placement.kind) {
    case 'none':
      return [];
    case 'send': {
      const { position } = placement;
      return [{ kind: 'send', position, send: send.shown, scheduled: send.status === 'scheduled' }];
    }
    case 'messageAtSend': {
      const { position, message } = placement;
      return [{ kind: 'message', position, message: message.raw, send: summaryOf(send) }];
    }
  }
}

function summaryOf({ id, status, reference }: TimelineSend<unknown>): SendOfMessage {
  return { id, status, reference };
}

/**
 * Returns the last message of a conversation as a message of the timeline. Only a preview of its text is known.
 */
function previewOf({ id, at, direction, preview }: NonNullable<TimelineConversation['last']>): PlacedMessage {
  const raw = { id, direction, message: preview ?? '', timestamp: new Date(at).toISOString() };
  return { position: { at, id }, message: { id, timestamp: at, raw } };
}

function nextCursor(
  { startedAt }: TimelineCursor,
  position: Position,
  found: MessagesFound,
  sends: SendsFound<unknown>,
): TimelineCursor {
  const sendsBefore = sends.serialNumberAbove(position);
  return {
    ...{ position, startedAt, ...found.cursorFieldsAt(position) },
    ...(sendsBefore === undefined ? {} : { sendsBefore }),
  };
}
