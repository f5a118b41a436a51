import type { ContactList, ContactReader, MessagePage, UpstreamMessage } from '#upstream';
import type { PollKind } from './poll/poll-queue.js';

/**
 * Context of a claimed poll. The poll passes the same object to each of its requests: the first request consumes
 * {@link tokenRequestedAt}, each later request waits for a token of its own.
 */
export interface ClaimedRead {
  readonly kind: PollKind;
  /** Number of consecutive failed reads of this kind before this read. */
  readonly consecutiveFailures: number;
  /** Time that the contact has been overdue, in milliseconds. */
  readonly overdueMs: number;
  /** Share of the request budget that polls can rely on, in requests per second. */
  readonly availableForPolls: number;
  /** Time at which the claim asked for its token, by `performance.now()`; absent once the token is consumed. */
  tokenRequestedAt?: number;
  /** Aborts when the read must end: then the read waits for no further request. */
  readonly signal: AbortSignal;
}

/**
 * Budget class of a read, from the highest priority to the lowest: `lookup` (of a send that upstream may not have taken),
 * `confirmation` (of a send that upstream took), then polls, whether claimed or not.
 */
export type ReadPurpose = 'poll' | 'lookup' | 'confirmation' | ClaimedRead;

/** Reads upstream on behalf of one account, within the account's request budget. */
export interface FeedSource {
  /** Passes each contact of the list to a reader while the list arrives. The caller closes the result. */
  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>>;
  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
  ): Promise<MessagePage>;
}

/** Outbound messages of one contact that a poll found new or changed. */
export interface Sightings {
  account: string;
  contactId: string;
  /** Messages that were not known before, oldest first. */
  newMessages: readonly UpstreamMessage[];
  /** Known messages whose flags or fingerprint changed. */
  changedMessages: readonly UpstreamMessage[];
  /** Upstream's time at the poll, in milliseconds since 1970; absent if upstream did not send a `Date`. */
  upstreamNow?: number;
}

/** The send that a message belongs to. */
export interface BoundSend {
  sendId: string;
  /** True if another message was bound to the same send before. */
  duplicate?: true;
}

/** Knows which message belongs to which send. */
export interface SendBinder {
  /**
   * Binds outbound messages to the sends they belong to and copies the messages' flags to the sends. Idempotent.
   * @returns the bound sends by message id; messages of other origin are left out
   */
  bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>>;

  /** Returns the sends that these messages are bound to, by message id; messages of other origin are left out. */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>>;
}

/** Reads the last recorded form of a message from the event log, while the log still keeps it. */
export interface RecordedMessages {
  /**
   * Returns the message as its last event contains it; undefined if the event log no longer keeps that event.
   * @param revision revision of the message's last event
   */
  lastRecordedForm(
    account: string,
    subject: string,
    revision: number,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Schedules the next time at which a worker looks for due contacts of an account. */
export interface PollAgenda {
  /**
   * Announces that a contact of the account is due at `dueAtMs` (milliseconds since 1970 by Redis' clock). Call right after
   * the due time is stored. A lost announcement delays the poll by at most a minute.
   */
  announceDue(account: string, dueAtMs: number): void;
}
