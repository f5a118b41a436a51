import type { ListCommit } from './contacts/list-commit.js';
import type { CommittedPoll, PollCommit, UnchangedPoll } from './poll/poll-commit.js';
import type { NextDueTime } from './poll/poll-queue.js';
import type { FeedOverview } from './schedule/feed-overview.js';
import type { ContactRates } from './schedule/poll-interval-planner.js';
import type { ContactState } from './snapshot/contact-state.js';
import type { ContactListSnapshot } from './snapshot/contact-list-snapshot.js';
import type { KnownMessage } from './snapshot/known-message.js';

/** The known contacts that own the phone number of a recipient, and when the contact list was last read. */
export interface Recipient {
  /**
   * The contacts that own the phone number. The contacts with the latest messages from or to the number come first.
   * If there are more than 20 contacts, only the first 20 are kept. Deleted contacts are left out. `isMissing` is
   * true if the last contact list did not contain the contact.
   */
  contacts: readonly { id: string; isMissing: boolean }[];
  /**
   * When the last read of the contact list started, in milliseconds since 1970 by Redis' clock. Absent before the
   * first complete read, and if the time is in the future because Redis' clock was set back.
   */
  listReadAt?: number;
  /**
   * True if so many contacts are missing from the last contact list that an outage of upstream is likely, and no
   * administrator has confirmed deletions since the outage was first suspected.
   */
  isListSuspect: boolean;
}

/** The account's contacts of which neither a phone number nor a message is known. */
export interface UnidentifiedContacts {
  /** When this result was read from Redis, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /**
   * When the last read of the contact list started, in milliseconds since 1970 by Redis' clock. Absent before the
   * first complete read.
   */
  listReadAt?: number;
  /**
   * The contacts of which neither a phone number nor a message is known. A phone number in the fields of several
   * contacts does not count as known, because it may be the phone number of the account itself. Deleted contacts are
   * left out. `isMissing` is true if the last contact list did not contain the contact.
   */
  contacts: Recipient['contacts'];
}

/** Result of {@link FeedStore.expeditePollsOfRecipients}. */
export interface ExpeditePollsResult {
  /**
   * True if a known contact owns at least one of the phone numbers that were passed to
   * {@link FeedStore.expeditePollsOfRecipients}.
   */
  hasContacts: boolean;
  /**
   * True if {@link FeedStore.expeditePollsOfRecipients} requested a read of the contact list, because at
   * least one of the phone numbers belongs to no known contact.
   */
  requestsList: boolean;
}

/**
 * Stores snapshots of contacts and messages, the times of their next polls, and measurements of polls. Each
 * snapshot is stored in one atomic step together with its events.
 */
export interface FeedStore {
  contactListSnapshot(account: string): Promise<ContactListSnapshot>;

  /**
   * Returns a contact as JSON and the contact's revision, both as last committed. Undefined if the contact is
   * unknown.
   */
  contactRecord(account: string, contactId: string): Promise<{ raw: string; revision: number } | undefined>;

  /** Returns the last committed form of each contact as JSON, by contact id. Unknown contacts are left out. */
  contactTexts(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /**
   * Stores the result of a read of the contact list. New and changed contacts become due for polling at once.
   * @returns false if another change of the list was committed, or Redis restarted or failed over, since the
   * read started
   */
  commitContacts(account: string, commit: ListCommit): Promise<boolean>;

  /**
   * Stores the reason why the contact list cannot be read. The next successful read of the list removes the
   * reason.
   */
  recordContactListFailure(account: string, reason: string): Promise<void>;

  /** Returns the polling state of a contact. Undefined if no contact list has ever contained the contact. */
  contactState(account: string, contactId: string): Promise<ContactState | undefined>;

  /** Returns the snapshots of these messages by message id. Messages without a snapshot are left out. */
  knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>>;

  /** Returns a histogram of the message rates of the account's contacts, and the number of its contacts. */
  contactRates(account: string): Promise<ContactRates>;

  /** Returns the snapshots of all known messages of a contact, by message id. */
  allKnownMessages(account: string, contactId: string): Promise<Map<string, KnownMessage>>;

  /**
   * Stores the result of a poll of a contact.
   * @returns the detection delays of new messages; undefined if the commit was refused, because the contact's stored
   * record has changed (usually by the commit of another read), or Redis restarted or failed over, since the poll
   * started
   */
  commitPoll(account: string, contactId: string, commit: PollCommit): Promise<CommittedPoll | undefined>;

  /**
   * Stores that a poll found the newest messages of a contact unchanged, and ends the claim of the contact. Calls for
   * the same account in one turn of the event loop are sent to Redis together.
   * @returns when the account's next contact is due; undefined if the commit was refused, for the same reasons as by
   * {@link commitPoll}
   */
  commitUnchangedPoll(
    account: string,
    contactId: string,
    commit: UnchangedPoll,
  ): Promise<NextDueTime | undefined>;

  /**
   * Requests that a contact is polled within `ms` milliseconds. If the contact is due earlier, its due time
   * stays.
   */
  expeditePoll(account: string, contactId: string, ms: number): Promise<void>;

  /**
   * Requests that the contact of each phone number is polled within `ms` milliseconds, as {@link expeditePoll}
   * does. If several contacts own a phone number, only the most likely recipient is polled. If any of the phone
   * numbers belongs to no known contact, requests that the contact list is read soon.
   */
  expeditePollsOfRecipients(
    account: string,
    phoneNumbers: readonly string[],
    ms: number,
  ): Promise<ExpeditePollsResult>;

  /** Requests that the contact list is read soon. Several requests before the read cause only one read. */
  requestContactListPoll(account: string): Promise<void>;

  /**
   * Returns true if a read of the contact list was requested since the last call of this method, and clears
   * the request.
   */
  consumeContactListPollRequest(account: string): Promise<boolean>;

  /** Returns the known contacts that own a phone number. */
  recipientOf(account: string, phoneNumber: string): Promise<Recipient>;

  /**
   * Returns at most `count` contacts of which neither a phone number nor a message is known. To find them, reads all
   * stored contacts of the account.
   */
  unidentifiedContacts(account: string, count: number): Promise<UnidentifiedContacts>;

  overview(account: string): Promise<FeedOverview>;

  /**
   * Records that an administrator confirmed that the missing contacts and messages of the account are really deleted.
   * Later polls then emit the deletions as events.
   */
  confirmDeletions(account: string): Promise<void>;
}
