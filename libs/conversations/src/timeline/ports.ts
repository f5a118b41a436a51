import type { Position } from '../position.js';

/** The part of a conversation that its timeline needs. */
export interface TimelineConversation {
  id: string;
  /** Absent until the messaging service lists a contact for the conversation. */
  contactId: string | undefined;
  /** Phone numbers in E.164 format, the most recently used first. */
  phoneNumbers: readonly string[];
  /** The last message, as the list of conversations shows it. */
  last:
    | { id: string; at: number; direction: 'inbound' | 'outbound' | 'other'; preview: string | null }
    | undefined;
}

/** A message of a contact, as upstream shows it. */
export interface TimelineMessage {
  id: string;
  /** Time in milliseconds since 1970, by upstream's clock. Absent if upstream gave no readable timestamp. */
  timestamp?: number;
  /** All fields of the message, unchanged. */
  raw: Readonly<Record<string, unknown>>;
}

/** One page of a contact's messages, in the order of upstream. */
export interface MessagesPage {
  items: readonly TimelineMessage[];
  /** Number of elements on the page, including unreadable ones. */
  count: number;
}

/** Thrown if upstream's messages cannot be read now. */
export class MessagesUnavailableError extends Error {
  /** @param mayBeSize true if a smaller page may be readable */
  constructor(
    readonly mayBeSize = false,
    options?: ErrorOptions,
  ) {
    super("upstream's messages cannot be read now", options);
    this.name = 'MessagesUnavailableError';
  }
}

/** Reads pages of messages from upstream. */
export interface MessagePages {
  /**
   * Makes one upstream request. Waits for the budget of timelines only as long as `patience` allows.
   * @throws {MessagesUnavailableError}
   */
  read(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    patience: Patience,
  ): Promise<MessagesPage>;
}

/** How long one call may wait for the budget of timelines. All requests of the call share it. */
export interface Patience {
  /** Remaining time, in milliseconds. The reader reduces it by the time that it waited. */
  leftMs: number;
}

/** Order in which upstream lists a contact's messages. */
export type ListOrder = 'unknown' | 'newestFirst' | 'oldestFirst' | 'unsorted';

/** What the feed has learned about the list of a contact's messages. */
export interface ListShape {
  order: ListOrder;
  /** Number of messages in the list when the feed last read its end. */
  length: number;
  /** Largest page limit that upstream is known to honour. */
  maxLimit: number;
  /**
   * Number of messages on a page that is surely full although a larger limit was requested. A page with fewer
   * messages is the last one. Not larger than {@link maxLimit}.
   */
  fullPage: number;
}

/** Whether the snapshot of a message is stored, so that its event is committed. */
export type Committed = 'present' | 'deleted';

/** What the feed knows about a contact's messages. */
export interface TimelineFeed {
  /** Returns undefined if the contact is unknown. */
  listShape(account: string, contactId: string): Promise<ListShape | undefined>;
  /** Returns which of these messages are committed, by id. */
  committed(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Committed>>;
  /** Returns the ids of all committed messages of a contact that are not deleted. */
  presentIds(account: string, contactId: string): Promise<ReadonlySet<string>>;
  /** Makes the contact due for polling at once. */
  makeDue(account: string, contactId: string): Promise<void>;
}

/** A send, with what decides its position. Times are in milliseconds since 1970. */
export interface TimelineSend<S> {
  id: string;
  status: string;
  reference: string | null;
  phoneNumber: string;
  createdAt: number;
  sendAt?: number;
  /** The first message that is known to belong to the send. */
  message?: { contactId: string; messageId: string };
  /** When the message was bound to the send, by Redis' clock. Absent in data of older versions. */
  boundAt?: number;
  /** The send as callers see it. */
  shown: S;
}

/** One page of the sends to a recipient, the last accepted first. */
export interface SendsPage<S> {
  sends: readonly TimelineSend<S>[];
  /** Number to pass as `before` for the next page. Absent on the last page. */
  next?: number;
}

/** Reads sends. Sends are numbered in the order of their acceptance, over all recipients of the account. */
export interface TimelineSends<S> {
  /** Returns sends to a recipient whose number is below `before`, at most `limit`. */
  sendsTo(
    account: string,
    phoneNumber: string,
    limit: number,
    before: number | undefined,
  ): Promise<SendsPage<S>>;
  /** Returns the sends to a recipient that are not posted yet, at most `limit`. */
  pendingTo(account: string, phoneNumber: string, limit: number): Promise<readonly TimelineSend<S>[]>;
  /** Returns the ids of the sends that these messages belong to, by message id. */
  sendIdsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>>;
  /** Returns the stored sends with these ids. */
  byIds(account: string, ids: readonly string[]): Promise<readonly TimelineSend<S>[]>;
}

/** A change of a message that an event reports. */
export type MessageChange = { message: TimelineMessage } | { deletedId: string };

/** Reads the event log. */
export interface TimelineEvents {
  /** Returns a cursor positioned after the newest event. */
  end(account: string): Promise<string>;
  /**
   * Returns what the events of a contact's messages after a cursor report, oldest first. Returns undefined if
   * the cursor is too old or there are too many events.
   */
  changesSince(
    account: string,
    contactId: string,
    cursor: string,
  ): Promise<{ changes: readonly MessageChange[]; next: string } | undefined>;
}

/** Source of Redis' time. */
export interface TimelineClock {
  /** Returns the time in milliseconds since 1970. */
  now(account: string): Promise<number>;
}

/** The send that a message belongs to. */
export interface SendOfMessage {
  id: string;
  status: string;
  reference: string | null;
}

/** An entry of a timeline. */
export type TimelineEntry<S> =
  | {
      kind: 'message';
      position: Position;
      message: Readonly<Record<string, unknown>>;
      send: SendOfMessage | null;
    }
  | { kind: 'send'; position: Position; send: S; scheduled: boolean };
