import type { NewEvent } from '#events';
import type { ContactExtension } from './snapshot/contact-extension.js';
import type { PollReport } from './delay/poll-report.js';
import type { FeedOverview } from './schedule/feed-overview.js';
import type { KnownMessage } from './snapshot/known-message.js';
import type { ListedContacts } from './snapshot/listed-contacts.js';
import type { PollMemory } from './snapshot/poll-memory.js';
import type { ContactRates } from './schedule/poll-plans.js';
import type { UnreadableElements } from './snapshot/unreadable-elements.js';

/** Snapshot of one contact in the contact list. */
export interface ListedContact {
  /** Fingerprint of the contact's fields, in hexadecimal. */
  fingerprint: string;
  /** Time since which the contact is missing from the list, in milliseconds since 1970 by Redis' clock. */
  missingSince?: number;
  /**
   * True if `contact.deleted` was emitted. The snapshot is kept so that a return of the contact is recognized.
   */
  deleted: boolean;
}

/** Snapshot of an account's contact list. */
export interface KnownContacts {
  /** Changes with every commit. A commit that started from an older version is refused. */
  version: number;
  /** Current time by Redis' clock, in milliseconds since 1970. */
  now: number;
  /** Time of the last complete read of the list, by upstream's clock; absent before the first read. */
  listedAt?: number;
  /** Time since which so many contacts are missing that an outage is likely, by Redis' clock. */
  suspectSince?: number;
  /** Time at which an administrator last confirmed deletions, by Redis' clock. */
  deletionsConfirmedAt?: number;
  /** Time at which a read last found too much of the account missing, by Redis' clock. */
  suspectAt?: number;
  /** Lower bound of new event revisions: lower ones may have been used before Redis lost its last seconds. */
  revisionFloor: number;
  /** Identifies the Redis run, which ends with a restart or failover. A commit in another run is refused. */
  redisRun: string;
  /**
   * Number of unreadable elements in the last list without missing contacts. Only older builds read this
   * number.
   */
  skipped: number;
  /** History of unreadable elements in the list; absent before the first list. */
  unreadable?: UnreadableElements;
  /** Number of contacts that are scheduled for polling. */
  scheduled: number;
  /** Hash of the upstream address that served the last contact list; absent before the first list. */
  upstream?: string;
  /**
   * For the hash of each upstream address that served a contact list: the hash of the first address of the same
   * service.
   */
  services: ReadonlyMap<string, string>;
  contacts: ListedContacts;
}

/** Change of one contact in the list: new, changed or missing. */
export interface ContactUpdate {
  id: string;
  listed: ListedContact;
  /** Contact as upstream sent it, as JSON; absent if the contact is missing. */
  raw?: string;
  /** E.164 phone numbers found in the contact's fields. */
  numbers: readonly string[];
  /** For a new contact: the first read emits messages stamped later; see `FirstRead`. */
  emitAfter?: number;
  /** Event of the change, if the change is emitted; at most one per contact. */
  event?: NewEvent;
}

/** Owners of a phone number. */
export interface Recipient {
  /**
   * Contacts that own the number, most recently used first, at most 20. Deleted contacts are left out.
   * `isMissing`: the last list does not contain the contact.
   */
  contacts: readonly { id: string; isMissing: boolean }[];
  /** Start of the last read of the contact list, by Redis' clock; absent before the first read. */
  listReadAt?: number;
  /** True if so many contacts are missing from that list that an outage is likely. */
  isListSuspect: boolean;
}

/** Result of one read of the contact list, to be committed. */
export interface ListCommit {
  /** Version and Redis run at the start of the read. */
  version: number;
  redisRun: string;
  /** Start of the read, by Redis' clock. */
  startedAt: number;
  /** Time of the list by upstream's clock, in milliseconds since 1970. */
  listedAt: number;
  /** New values of {@link KnownContacts.skipped} and {@link KnownContacts.unreadable}. */
  skipped: number;
  unreadable: UnreadableElements;
  /** Hash of the upstream address, and hash of the first address that led to the same service. */
  upstream: string;
  service: string;
  /**
   * Changes, consumed in batches. If the iteration throws, earlier batches may be committed, but the list is
   * not.
   */
  updates: Iterable<ContactUpdate> | AsyncIterable<ContactUpdate>;
  /** Time since which too many contacts are missing, by Redis' clock; absent if not too many are missing. */
  suspectSince?: number;
  /** Events of the account, not of a contact. */
  events: readonly NewEvent[];
}

/** Polling state of one contact. */
export interface ContactState {
  /** Changes with every commit. A commit that started from an older version is refused. */
  version: number;
  /** Current time by Redis' clock, in milliseconds since 1970. */
  now: number;
  memory: PollMemory;
  extension: ContactExtension;
  /** Number of consecutive failed polls of the contact. */
  failures: number;
  /** Number of elements on the longest page of any contact of the account; 0 before the first page. */
  longestPage: number;
  /**
   * The first read emits messages stamped later, see `FirstRead`; present until a read of all pages has ended.
   */
  emitAfter?: number;
  /** Counts the requests to poll the contact sooner. A request during a poll takes effect after the poll. */
  expediteRequests: number;
  /** Number of stored message snapshots. */
  storedMessages: number;
  /** Epoch of the account's event log; absent if the account has no event log. */
  epoch?: string;
  /** Time at which an administrator last confirmed deletions, by Redis' clock. */
  deletionsConfirmedAt?: number;
  /** Time since which too many contacts are missing from the list, by Redis' clock. */
  listSuspectSince?: number;
  /** Time at which a read last found too much of the account missing, by Redis' clock. */
  suspectAt?: number;
  /** Time at which a poll of any contact last returned a message, by Redis' clock. */
  messagesShownAt?: number;
  /** Number of known contacts of the account, deleted contacts included. */
  contacts: number;
  /** True if the contact's record was lost and created again. */
  lost: boolean;
  /**
   * Lower bound of new event revisions. A subscriber may have read an event that Redis lost, and a later event
   * must not get the same id. 0 if Redis never lost data.
   */
  revisionFloor: number;
  /** Identifies the Redis run, which ends with a restart or failover. A commit in another run is refused. */
  redisRun: string;
}

/** Result of one poll of a contact, to be committed. */
export interface PollCommit {
  /** Version and Redis run at the start of the poll. */
  version: number;
  redisRun: string;
  /** Value of {@link ContactState.expediteRequests} at the start of the poll. */
  expediteRequests: number;
  /** True if the commit deletes all message snapshots of the contact before it stores new ones. */
  deletesSnapshots: boolean;
  known: ReadonlyMap<string, KnownMessage>;
  events: readonly NewEvent[];
  /**
   * Memory to store. Absent if the poll changed nothing and no request to poll the contact sooner is open: then
   * the version stays the same, and concurrent reads of the contact can still commit.
   */
  memory?: PollMemory;
  /** Contact extension to store; absent if the stored extension stays. */
  extension?: ContactExtension;
  /**
   * Bucket of the contact's rate of change in the account's histogram; present together with {@link dueInMs}.
   */
  bucket?: number;
  /**
   * Time until the next read of the newest messages, in milliseconds; absent if the due time stays the same.
   */
  dueInMs?: number;
  /**
   * First read of the contact: starts (and emits messages stamped after `emitAfter`), goes on, or ends
   * (`over`).
   */
  baseline: { emitAfter: number } | 'unchanged' | 'over';
  /**
   * Time until the next read of older messages, in milliseconds. With `overwrites: false` an existing due time
   * stays.
   */
  deep: { inMs: number; overwrites: boolean } | 'unchanged' | 'over';
  /** Start of the poll by Redis' clock, if the poll found too much missing. */
  suspectAt?: number;
  /**
   * Time since which too many messages of this contact are missing, by Redis' clock; `over` if the suspicion
   * ends.
   */
  suspicion?: number | 'over' | undefined;
  /** Start of the poll by Redis' clock, if upstream returned a message. */
  messagesShownAt?: number;
  /** New value of {@link ContactState.longestPage}, if the poll returned a longer page. */
  longestPage?: number;
  /** Number of unreadable elements that were not known before. */
  unreadable: number;
  /** Phone numbers of the contact in its messages. */
  numbers: readonly string[];
  /** Measurements of the poll for the account's statistics. */
  report: PollReport;
}

/** Stores snapshots, due times and measurements of the feed. Each commit is atomic together with its events. */
export interface FeedStore {
  knownContacts(account: string): Promise<KnownContacts>;

  /** Returns a contact's JSON and revision as of the last commit; undefined for an unknown contact. */
  contactRecord(account: string, contactId: string): Promise<{ raw: string; revision: number } | undefined>;

  /**
   * Commits a read of the contact list. New and changed contacts become due at once.
   * @returns false if another list was committed since the read started
   */
  commitContacts(account: string, commit: ListCommit): Promise<boolean>;

  /** Stores why the contact list cannot be read. The next successful read clears the reason. */
  recordContactListFailure(account: string, reason: string): Promise<void>;

  /** Returns a contact's polling state; undefined if no list has contained the contact. */
  contactState(account: string, contactId: string): Promise<ContactState | undefined>;

  /** Returns the snapshots of these messages; unknown messages are left out. */
  knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>>;

  /** Returns the number of contacts in each bucket of the rate of change. */
  contactRates(account: string): Promise<ContactRates>;

  /** Returns the snapshots of all known messages of a contact. */
  allKnownMessages(account: string, contactId: string): Promise<Map<string, KnownMessage>>;

  /**
   * Commits a poll of a contact.
   * @returns false if another poll of the contact was committed since `version`
   */
  commitPoll(account: string, contactId: string, commit: PollCommit): Promise<boolean>;

  /** Makes a contact due within `ms` milliseconds. An earlier due time stays. */
  expeditePoll(account: string, contactId: string, ms: number): Promise<void>;

  /** Requests a read of the contact list. Concurrent requests lead to one read. */
  requestListPoll(account: string): Promise<void>;

  /** Returns whether a read of the list was requested since the last call, and clears the request. */
  takeListPollRequest(account: string): Promise<boolean>;

  /** Returns the known owners of a phone number. */
  recipientOf(account: string, phoneNumber: string): Promise<Recipient>;

  overview(account: string): Promise<FeedOverview>;

  /** Confirms deletions that look like an outage, so that they are emitted. */
  confirmDeletions(account: string): Promise<void>;
}
