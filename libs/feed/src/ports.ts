import type { TraceContext } from '#platform';
import type { ContactList, ContactReader, MessagePage, UpstreamMessage } from '#upstream';
import type { ContactState } from './snapshot/contact-state.js';
import type { NextDueTime, PollKind } from './poll/poll-queue.js';

/**
 * A poll that a worker has claimed. Its first upstream request uses the budget token that was requested at
 * {@link tokenRequestedAt}. Each later request waits for its own token.
 */
export interface ClaimedRead {
  readonly kind: PollKind;
  /** The part of the account's request budget that is available to polls, in requests per second. */
  readonly availableForPolls: number;
  /**
   * When the claim requested its budget token, by `performance.now()`. Absent once a request has used the
   * token.
   */
  tokenRequestedAt?: number;
  /** Aborted when the read must end. A request that still waits for a budget token is then not sent. */
  readonly signal: AbortSignal;
  /** Id of the lease under which the worker claimed the poll. */
  readonly lease: string;
  /**
   * Whether the worker renews the lease. Set to false before a step that ends the claim, because a renewal must not
   * follow it, and to true again if that step was refused.
   */
  isLeaseRenewed: boolean;
  /**
   * True if upstream had no outage when the poll was claimed. The first upstream request of the poll is then
   * sent without another check.
   */
  readonly isUpstreamAvailable: boolean;
  /**
   * State of the contact when it was claimed. Absent for a deep read. Removed by the first attempt to read,
   * because a further attempt needs the current state.
   */
  state?: ContactState;
  /**
   * The time at which the account's next contact is due, as returned by the commit that ended the claim. Absent if no
   * commit has ended the claim.
   */
  ended?: NextDueTime;
}

/**
 * Why upstream is read. `lookup`: to find the message of a send that upstream may not have accepted, or to read the
 * contact list for any look-up. `confirmation`: to find the message of a send that upstream has accepted. `poll`: a
 * poll without a claim, such as a poll of the contact list. {@link ClaimedRead}: a poll that a worker claimed.
 */
export type ReadPurpose = 'lookup' | 'confirmation' | 'poll' | ClaimedRead;

/** Reads contacts and messages of an account from upstream, within the account's request budget. */
export interface FeedSource {
  /**
   * Reads the contact list, and passes each contact to a reader while the list arrives. A reply may contain several
   * lists, and only its end shows which of them is the contact list. `newReader` therefore creates a reader for
   * each list, and the result contains the reader of the contact list. The caller must close the result.
   */
  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>>;
  /**
   * Reads one page of a contact's messages.
   * @param knownDigest if the reply's body has this digest, the result has `isUnchanged` and no messages
   */
  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
    knownDigest?: string,
  ): Promise<MessagePage>;
}

/** Collects what a look-up of sends reads. The caller of the look-up provides this object. */
export interface LookupReads {
  readonly contactIds: readonly string[];
  /** Number of messages that the look-up read. A message that it read twice counts twice. */
  readonly messagesRead: number;
  /**
   * Adds the messages of one page to the results of the look-up. Must be called before these messages are bound
   * to sends.
   * @param upstreamAheadMs how far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown
   */
  add(contactId: string, messages: readonly UpstreamMessage[], upstreamAheadMs: number): void;
}

/** Outbound messages of one contact that are new or changed, as found by a poll. */
export interface Sightings {
  account: string;
  contactId: string;
  /** Messages that were not known before this poll, oldest first. */
  newMessages: readonly UpstreamMessage[];
  /** Known messages in which a field that is compared with sends, such as the text, has or may have changed. */
  editedMessages: readonly UpstreamMessage[];
  /**
   * Other changed messages: known messages in which a flag (`delivered`, `read`) or a field that is not compared
   * with sends has changed, and deleted messages that appeared again.
   */
  otherChangedMessages: readonly UpstreamMessage[];
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown. */
  upstreamAheadMs: number;
  /** When the read of the messages started, in milliseconds since 1970 by Redis' clock. */
  readAt: number;
  /** Number of messages that the poll compared, including those that are neither new nor changed. */
  messagesRead: number;
  /** What the look-up of sends has read so far. Absent if the poll is not part of a look-up. */
  lookup?: LookupReads;
}

/** The send that a message belongs to. */
export interface BoundSend {
  sendId: string;
  /** True if another message was already bound to the same send. */
  duplicate?: true;
  /** The caller's own id of the send, if the caller gave one. */
  reference?: string;
  /** Trace of the send. The events of the message that is bound to the send continue this trace. */
  trace?: TraceContext;
}

/** Records and finds out which message belongs to which send. */
export interface SendBinder {
  /**
   * Binds outbound messages to the sends that they belong to, and copies the flags of the messages to the
   * sends. Repeated calls have no further effect.
   * @returns the send of each message, by message id; messages that belong to no send are left out
   */
  bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>>;

  /**
   * Returns the send that each of the given messages is bound to, by message id. Messages that belong to no send
   * are left out.
   */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>>;
}

/** Reads the last recorded form of a message from the event log, as long as the log keeps it. */
export interface RecordedMessages {
  /**
   * Returns a message as its last event contains it. Undefined if the event log no longer contains that
   * event.
   * @param revision revision of the message's last event
   */
  lastRecordedForm(
    account: string,
    subject: string,
    revision: number,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Sets the time at which a worker next looks for due contacts of an account. */
export interface PollAgenda {
  /**
   * Announces that a contact of the account is due at `dueAtMs` (milliseconds since 1970 by Redis' clock).
   * Call this method right after the due time is stored. If an announcement is lost, the poll is delayed by
   * at most a minute.
   */
  announceDue(account: string, dueAtMs: number): void;
}
