import type { Position } from '../position.js';

/** The part of a conversation that its timeline needs. */
export interface TimelineConversation {
  id: string;
  /** Undefined until the messaging service lists a contact for the conversation. */
  contactId: string | undefined;
  /** Phone numbers of the conversation in E.164 format. The phone number of the last message comes first. */
  phoneNumbers: readonly string[];
  /** The last message, as the list of conversations shows it. Undefined if there is no message. */
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
  /** @param mayBeCausedByPageSize true if the error may be caused by the size of the requested page */
  constructor(
    readonly mayBeCausedByPageSize = false,
    options?: ErrorOptions,
  ) {
    super("upstream's messages cannot be read now", options);
    this.name = 'MessagesUnavailableError';
  }
}

/** Thrown if reading one page of a timeline has taken so long that no further upstream request may begin. */
export class TimelinePageTimeoutError extends MessagesUnavailableError {
  constructor() {
    super();
    this.name = 'TimelinePageTimeoutError';
  }
}

/** Reads pages of messages from upstream. */
export interface MessagePages {
  /**
   * Reads one page with one upstream request. Waits for the budget only as long as `remainingWait` allows.
   * @throws {MessagesUnavailableError}
   */
  read(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    remainingWait: RemainingBudgetWait,
  ): Promise<MessagesPage>;
}

/** Limits the total time that the upstream requests for one page of a timeline wait for the budget. */
export interface RemainingBudgetWait {
  /** Time left to wait for the budget, in milliseconds. Each wait reduces the time. */
  leftMs: number;
}

/** Order in which upstream lists a contact's messages. */
export type ListOrder = 'unknown' | 'newestFirst' | 'oldestFirst' | 'unsorted';

/** What the feed has learned about the list of a contact's messages. */
export interface ListShape {
  order: ListOrder;
  /** Number of elements of the contact's message list when the feed last read the list to its end. */
  length: number;
  /**
   * Largest page limit that upstream is known to accept. Upstream may still return fewer messages:
   * see {@link fullPage}.
   */
  maxLimit: number;
  /**
   * Largest number of messages that upstream is known to return on a page, at most {@link maxLimit}. A page with
   * fewer messages is the last one, unless a smaller limit was requested.
   */
  fullPage: number;
}

/** What the contact's snapshot says about a message: it exists (`present`), or it was deleted (`deleted`). */
export type CommittedMessageState = 'present' | 'deleted';

/** Reads what the feed has stored about a contact's messages, and makes contacts due for polling. */
export interface TimelineFeed {
  /**
   * Returns the order, length and page limit of a contact's list of messages. Undefined if the contact is unknown.
   */
  listShape(account: string, contactId: string): Promise<ListShape | undefined>;
  /** Returns what the contact's snapshot says about each message, by message id. Unknown messages are left out. */
  committed(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CommittedMessageState>>;
  /** Returns the ids of all committed messages of a contact that are not deleted. */
  presentIds(account: string, contactId: string): Promise<ReadonlySet<string>>;
  /** Makes the contact due for polling at once. */
  makeDue(account: string, contactId: string): Promise<void>;
}

/** A send with the times that decide its position, in milliseconds since 1970. */
export interface TimelineSend<S> {
  id: string;
  status: string;
  reference: string | null;
  phoneNumber: string;
  createdAt: number;
  sendAt?: number;
  /** The message that was bound to the send first. Absent until a message is bound. */
  message?: { contactId: string; messageId: string };
  /**
   * When {@link message} was bound to the send, by Redis' clock. Absent until then, and in data of earlier builds.
   */
  boundAt?: number;
  /** The send as callers see it. */
  shown: S;
}

/** One page of the sends to a recipient, sorted by descending serial number (see {@link TimelineSends}). */
export interface SendsPage<S> {
  sends: readonly TimelineSend<S>[];
  /** The next page contains the sends with serial numbers below this number. Absent on the last page. */
  next?: number;
}

/**
 * Reads sends. Each send of an account has a serial number. Serial numbers rise with the creation time of the sends.
 * Only sends that were created within a few seconds of each other may be numbered in a different order.
 */
export interface TimelineSends<S> {
  /**
   * Returns at most `limit` sends to a recipient: those with the highest serial numbers below `before`, or with the
   * highest serial numbers of all if `before` is undefined.
   */
  sendsTo(
    account: string,
    phoneNumber: string,
    limit: number,
    before: number | undefined,
  ): Promise<SendsPage<S>>;
  /**
   * Returns the scheduled, queued, relaying and accepted sends to a recipient, at most `limit` of each
   * status.
   */
  pendingTo(account: string, phoneNumber: string, limit: number): Promise<readonly TimelineSend<S>[]>;
  /**
   * Returns the ids of the sends that these messages belong to, by message id. Messages without a send are left out.
   */
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
   * Reads the events after a cursor. Returns the changes of a contact's messages from these events, oldest first, and
   * the cursor after these events. Returns undefined if the cursor is too old or there are too many events.
   */
  changesSince(
    account: string,
    contactId: string,
    cursor: string,
  ): Promise<{ changes: readonly MessageChange[]; next: string } | undefined>;
}

/** Source of Redis' time. */
export interface TimelineClock {
  /** Returns the time by the clock of the Redis server that stores the account, in milliseconds since 1970. */
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
