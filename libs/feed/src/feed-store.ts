import type { RowUpdate } from '#conversations';
import type { NewEvent } from '#events';
import type { RebuildablePollState } from './snapshot/rebuildable-poll-state.js';
import type { PollReport } from './delay/poll-report.js';
import type { FeedOverview } from './schedule/feed-overview.js';
import type { KnownMessage } from './snapshot/known-message.js';
import type { ListedContacts } from './snapshot/listed-contacts.js';
import type { PollState } from './snapshot/poll-state.js';
import type { NextDue } from './poll/poll-queue.js';
import type { ContactRates } from './schedule/poll-interval-planner.js';
import type { UnreadableElementHistory } from './snapshot/unreadable-elements.js';

/** Snapshot of one contact in the contact list. */
export interface ListedContact {
  /** Hash of the contact's fields, in hexadecimal. A different hash shows that a field has changed. */
  fingerprint: string;
  /**
   * When the contact list was first read without this contact, in milliseconds since 1970 by Redis' clock.
   * Absent if the last list contained the contact.
   */
  missingSince?: number;
  /**
   * True if the event `contact.deleted` was emitted for this contact. The snapshot is kept, so that the
   * contact is recognized if it appears in the list again.
   */
  deleted: boolean;
}

/** Snapshot of an account's contact list. */
export interface KnownContacts {
  /**
   * Number that increases with every commit that changes the contact list. The result of a read is not committed
   * if the version changed after the read started.
   */
  version: number;
  /** When this snapshot was read from Redis, in milliseconds since 1970 by Redis' clock. */
  now: number;
  /**
   * When the contact list was last read completely and no outage was suspected, in milliseconds since 1970 by
   * upstream's clock. Absent before the first read.
   */
  listedAt?: number;
  /**
   * True if a contact list of the account was ever committed completely. Stays true even if the stored
   * contacts are lost; {@link listedAt} is absent in that case.
   */
  wasListedBefore: boolean;
  /** True if only a part of a list was committed whose new contacts replace the known ones; see {@link ListCommit}. */
  isReplacing: boolean;
  /**
   * When a read of the contact list first found so many contacts missing that an outage of upstream is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  suspectSince?: number;
  /**
   * When an administrator last confirmed that missing contacts or messages of the account are really deleted,
   * in milliseconds since 1970 by Redis' clock.
   */
  deletionsConfirmedAt?: number;
  /**
   * When a read last found so many contacts or messages of the account missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock.
   */
  suspectAt?: number;
  /**
   * Each new change of a contact gets a revision above this number. Lower revisions may belong to changes that
   * Redis lost in a restart or failover.
   */
  revisionFloor: number;
  /**
   * Id of the current run of Redis, which ends with a restart or failover. The result of a read is not committed
   * if the run changed after the read started.
   */
  redisRun: string;
  /**
   * Number of unreadable elements in the most recent contact list that contained all known contacts. Stored for
   * compatibility with earlier builds of Tidings, which do not store {@link unreadable}.
   */
  skipped: number;
  /**
   * How the number of unreadable elements in the contact list has changed. Absent before the first read of
   * the list.
   */
  unreadable?: UnreadableElementHistory;
  /** Number of contacts of the account that are scheduled for polling. */
  scheduled: number;
  /**
   * Hash of the upstream address from which the last contact list was read. Absent before the first read of
   * the list.
   */
  upstream?: string;
  /**
   * The messaging service behind each upstream address from which a contact list was read. Key: hash of the
   * address. Value: id of the service, which is the hash of the earliest known address of the service.
   */
  services: ReadonlyMap<string, string>;
  contacts: ListedContacts;
}

/** A contact whose snapshot must be stored, because it is new, changed or missing from the contact list. */
export interface ContactUpdate {
  id: string;
  listed: ListedContact;
  /** The contact as upstream sent it, in JSON. Absent if the contact is missing from the list. */
  raw?: string;
  /** Phone numbers in the contact's fields, in E.164 format. */
  numbers: readonly string[];
  /**
   * `all`: the search words of the contact's fields. `removed`: words that the fields no longer contain. Absent
   * if the fields did not change.
   */
  words?: { all: readonly string[]; removed: readonly string[] };
  /**
   * Used only if the contact is new: the first read of the contact emits events for messages whose timestamp is later
   * than this time (milliseconds since 1970 by upstream's clock); see `FirstRead`.
   */
  emitAfter?: number;
  /** The event that reports the change of the contact. Absent if the change emits no event. */
  event?: NewEvent;
}

/** The known contacts that own the phone number of a recipient, and when the contact list was last read. */
export interface Recipient {
  /**
   * The contacts that own the phone number. The contacts with the latest messages from or to the number come first.
   * If there are more than 20 contacts, only the first 20 are kept. Deleted contacts are left out. `isMissing` is
   * true if the last contact list did not contain the contact.
   */
  contacts: readonly { id: string; isMissing: boolean }[];
  /**
   * When the last read of the contact list started, in milliseconds since 1970 by Redis' clock. Absent before
   * the first read.
   */
  listReadAt?: number;
  /** True if so many contacts are missing from the last contact list that an outage of upstream is likely. */
  isListSuspect: boolean;
}

/** The account's contacts of which neither a phone number nor a message is known. */
export interface UnidentifiedContacts {
  /** When this result was read from Redis, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** When the last read of the contact list started; see {@link Recipient.listReadAt}. */
  listReadAt?: number;
  /**
   * The contacts of which neither a phone number nor a message is known. A phone number in the fields of several
   * contacts does not count as known, because it may be the phone number of the account itself. Deleted contacts are
   * left out. `isMissing` is true if the last contact list did not contain the contact.
   */
  contacts: Recipient['contacts'];
}

/** The result of one read of the contact list, as it is passed to {@link FeedStore.commitContacts}. */
export interface ListCommit {
  /**
   * Values of {@link KnownContacts.version} and {@link KnownContacts.redisRun} when the read of the contact
   * list started.
   */
  version: number;
  redisRun: string;
  /** When the read of the contact list started, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** New value of {@link KnownContacts.listedAt}, in milliseconds since 1970 by upstream's clock. */
  listedAt: number;
  /** New values of {@link KnownContacts.skipped} and {@link KnownContacts.unreadable}. */
  skipped: number;
  unreadable: UnreadableElementHistory;
  /**
   * `upstream` is the hash of the upstream address from which the list was read. `service` is the hash of the
   * earliest known address of the same messaging service.
   */
  upstream: string;
  service: string;
  /**
   * The contacts to store. They are committed in batches. If the iteration throws, earlier batches may already be
   * committed, but the contact list does not count as read.
   */
  updates: Iterable<ContactUpdate> | AsyncIterable<ContactUpdate>;
  /**
   * When a read of the contact list first found so many contacts missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  suspectSince?: number;
  /** True if the new contacts of the list replace the known ones, so that they emit no events. */
  isReplaced: boolean;
  /** Events that concern the account as a whole instead of one contact. */
  events: readonly NewEvent[];
}

/** The stored polling state of one contact. */
export interface ContactState {
  /**
   * Number that increases with every commit that changes the polling state of the contact. The result of a read is
   * not committed if the version changed after the read started.
   */
  version: number;
  /** When this state was read from Redis, in milliseconds since 1970 by Redis' clock. */
  now: number;
  /** When this process received this state, by `performance.now()`. */
  receivedAt: number;
  pollState: PollState;
  extension: RebuildablePollState;
  /** Number of polls of the contact that failed since the last commit of a poll or of a page of older messages. */
  failures: number;
  /**
   * Largest number of messages on one page, over all contacts of the account; 0 before the first page was
   * read.
   */
  longestPage: number;
  /**
   * The first read of the contact emits events for messages whose timestamp is later than this time
   * (milliseconds since 1970 by upstream's clock); see `FirstRead`. Absent once all pages of the contact have been
   * read.
   */
  emitAfter?: number;
  /**
   * Number of open requests to poll the contact sooner. A request that is made during a poll takes effect
   * after that poll.
   */
  expediteRequests: number;
  /** Number of messages in the stored snapshot of the contact. */
  storedMessages: number;
  /**
   * False if the contact has no conversation row yet, because the contact was stored by an earlier build of
   * Tidings, which had no rows.
   */
  hasRow: boolean;
  /**
   * Id of the account's current event log. It changes if the log is lost and created again. Absent if the
   * account has no event log.
   */
  epoch?: string;
  /**
   * When an administrator last confirmed that missing contacts or messages of the account are really deleted,
   * in milliseconds since 1970 by Redis' clock.
   */
  deletionsConfirmedAt?: number;
  /**
   * When a read of the contact list first found so many contacts missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  listSuspectSince?: number;
  /**
   * When a read last found so many contacts or messages of the account missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock.
   */
  suspectAt?: number;
  /**
   * When a poll of any contact of the account last returned a message, in milliseconds since 1970 by Redis'
   * clock.
   */
  messagesShownAt?: number;
  /** Number of known contacts of the account, including deleted contacts. */
  contacts: number;
  /** True if Redis lost the contact's stored state, so that a new, empty state was created. */
  lost: boolean;
  /**
   * Each new change of a message gets a revision above this number, because Redis may have lost changes with
   * lower revisions. If a revision were used twice, two events could have the same id. 0 if Redis never lost
   * data.
   */
  revisionFloor: number;
  /**
   * Id of the current run of Redis, which ends with a restart or failover. The result of a read is not committed
   * if the run changed after the read started.
   */
  redisRun: string;
}

/**
 * A poll that found the newest messages of a contact unchanged, as it is passed to
 * {@link FeedStore.commitUnchangedPoll}.
 */
export interface UnchangedPoll {
  /** Values of {@link ContactState.version} and {@link ContactState.redisRun} when the poll started. */
  version: number;
  redisRun: string;
  /** Id of the lease that ends with the commit. Absent if the contact was not claimed. */
  lease?: string;
  extension: RebuildablePollState;
  /**
   * Index of the bucket that counts this contact in the account's histogram of message rates; see
   * `RateHistogram`.
   */
  bucket: number;
  /** Time until the next poll of the contact, in milliseconds. */
  dueInMs: number;
  /** True if the poll returned at least one message. */
  showsMessages: boolean;
  report: PollReport;
}

/** The result of one poll of a contact, as it is passed to {@link FeedStore.commitPoll}. */
export interface PollCommit {
  /** Values of {@link ContactState.version} and {@link ContactState.redisRun} when the poll started. */
  version: number;
  redisRun: string;
  /** Value of {@link ContactState.expediteRequests} when the poll started. */
  expediteRequests: number;
  /** True if the commit deletes all stored message snapshots of the contact before it stores new ones. */
  deletesSnapshots: boolean;
  known: ReadonlyMap<string, KnownMessage>;
  events: readonly NewEvent[];
  /**
   * New polling state of the contact, from which its next poll is planned. Absent if the poll changed nothing
   * and there is no open request to poll the contact sooner. The version of the contact then stays the same,
   * so that other reads of the contact that are under way can still be committed.
   */
  pollState?: PollState;
  /** New value of {@link ContactState.extension}. Absent if the stored value stays. */
  extension?: RebuildablePollState;
  /**
   * Index of the bucket that counts this contact in the account's histogram of message rates. Present if
   * {@link dueInMs} is present.
   */
  bucket?: number;
  /**
   * Time until the newest messages of the contact are read again, in milliseconds. Absent if the scheduled
   * time stays the same.
   */
  dueInMs?: number;
  /**
   * How the commit changes the baseline of the contact. An object starts a new baseline, for example after stored
   * state was lost. Until the new baseline is complete, new messages emit events only if their timestamp is later
   * than `emitAfter` (milliseconds since 1970). `over` completes the baseline, and `unchanged` leaves the baseline
   * as it is.
   */
  baseline: { emitAfter: number } | 'unchanged' | 'over';
  /**
   * When older messages of the contact are read next: in `inMs` milliseconds. If `overwrites` is false, an earlier
   * scheduled time stays, and so does the time of a retry. `unchanged` leaves the schedule as it is, and `over`
   * means that no such read is needed.
   */
  deep: { inMs: number; overwrites: boolean } | 'unchanged' | 'over';
  /**
   * When the poll started, in milliseconds since 1970 by Redis' clock. Present only if the poll found so many
   * messages missing that an outage is likely.
   */
  suspectAt?: number;
  /**
   * When a read first found so many messages of this contact missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock. `over` if an outage is no longer likely. Undefined if an outage was
   * likely neither before nor after the poll.
   */
  suspicion?: number | 'over' | undefined;
  /**
   * When the poll started, in milliseconds since 1970 by Redis' clock. Present only if upstream returned at
   * least one message.
   */
  messagesShownAt?: number;
  /** New value of {@link ContactState.longestPage}. Present only if the poll returned a longer page. */
  longestPage?: number;
  /** Number of unreadable elements that this poll found for the first time. */
  unreadable: number;
  /** The contact's own phone numbers, taken from the new and reappeared messages of this poll. */
  numbers: readonly string[];
  /** Changes of the contact's conversation row. */
  row: RowUpdate;
  /** Measurements of the poll, which are added to the account's statistics. */
  report: PollReport;
}

/** A poll that was committed. */
export interface CommittedPoll {
  /**
   * Detection delays of the new messages whose events this commit emitted, in milliseconds: the time from a
   * message's timestamp to the commit, corrected for the difference between upstream's clock and Redis'
   * clock. Messages whose delay is unknown are left out.
   */
  delaysMs: readonly number[];
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
  knownContacts(account: string): Promise<KnownContacts>;

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

  /** Returns a histogram of the message rates of the account's contacts. */
  contactRates(account: string): Promise<ContactRates>;

  /** Returns the snapshots of all known messages of a contact, by message id. */
  allKnownMessages(account: string, contactId: string): Promise<Map<string, KnownMessage>>;

  /**
   * Stores the result of a poll of a contact.
   * @returns the detection delays of new messages; undefined if nothing was stored, because another poll of the
   * contact was committed, or Redis restarted or failed over, since the poll started
   */
  commitPoll(account: string, contactId: string, commit: PollCommit): Promise<CommittedPoll | undefined>;

  /**
   * Stores that a poll found the newest messages of a contact unchanged, and ends the claim of the contact.
   * Calls for the same account in one turn of the event loop are sent to Redis together.
   * @returns when the account's next contact is due; undefined if nothing was stored, because another poll of the
   * contact was committed, or Redis restarted or failed over, since the poll started
   */
  commitUnchangedPoll(
    account: string,
    contactId: string,
    commit: UnchangedPoll,
  ): Promise<NextDue | undefined>;

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
   * Records that an administrator confirmed that the missing contacts and messages of the account are really
   * deleted. The deletions are then emitted as events.
   */
  confirmDeletions(account: string): Promise<void>;
}
