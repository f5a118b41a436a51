import type { NewEvent } from '#events';
import type { ContactExtension } from './snapshot/contact-extension.js';
import type { PollReport } from './delay/poll-report.js';
import type { FeedOverview } from './schedule/feed-overview.js';
import type { KnownMessage } from './snapshot/known-message.js';
import type { ListedContacts } from './snapshot/listed-contacts.js';
import type { PollMemory } from './snapshot/poll-memory.js';
import type { ContactRates } from './schedule/poll-plans.js';
import type { UnreadableElements } from './snapshot/unreadable-elements.js';

/** What is known of one contact in the list. */
export interface ListedContact {
  /** Of its fields, in hexadecimal. */
  fingerprint: string;
  /** Since when the list has not shown it; milliseconds since 1970 by Redis' clock. */
  missingSince?: number;
  /** Told as deleted. It stays known, so that its return is told. */
  deleted: boolean;
}

/** What is known of the account's contact list. */
export interface KnownContacts {
  /** Changes with every commit; a commit against an older one is refused. */
  version: number;
  /** Redis' clock, in milliseconds since 1970. */
  now: number;
  /** When the list was last read in full, on upstream's clock; absent before the first time. */
  listedAt?: number;
  /** Since when too many contacts are missing to be believed, by Redis' clock. */
  suspectSince?: number;
  /** When it was last said that deletions may be believed, by Redis' clock. */
  believedAt?: number;
  /** When it was last found that too much of the account is missing, by Redis' clock. */
  suspectAt?: number;
  /** Revisions go on above this: lower ones may have been used before Redis lost its last seconds. */
  revisionFloor: number;
  /** Redis' life, which ends with a restart or a failover; a commit in another one is refused. */
  life: string;
  /** How many elements could not be read in the last list that missed nobody; older builds decide by it. */
  skipped: number;
  /** Absent before the first list. */
  unreadable?: UnreadableElements;
  /** How many contacts are scheduled to be polled. */
  scheduled: number;
  /** The stamp of the address that the last list came from; absent before the first. */
  upstream?: string;
  /** The addresses that lists came from, by stamp, each with that of the first address of the same service. */
  services: ReadonlyMap<string, string>;
  contacts: ListedContacts;
}

/** A contact that is new or changed in the list, or missing from it. */
export interface ContactUpdate {
  id: string;
  listed: ListedContact;
  /** What upstream said of it, as JSON; absent if it is missing. */
  raw?: string;
  /** The E.164 numbers among its fields. */
  numbers: readonly string[];
  /** For a new contact: which messages its first read will tell; see `FirstRead`. */
  tellAfter?: number;
  /** At most one event a contact. */
  event?: NewEvent;
}

/** Who a phone number belongs to. */
export interface Recipient {
  /**
   * The contacts that hold it, at most 20, those first whose messages showed it last; deleted ones are left out.
   * `isMissing`: the last list does not show it.
   */
  contacts: readonly { id: string; isMissing: boolean }[];
  /** When the reading of the last contact list began, by Redis' clock; absent before the first. */
  listReadAt?: number;
  /** Whether that list misses so many contacts that it is not believed. */
  isListDoubted: boolean;
}

/** What a read of the contact list brought. */
export interface ListCommit {
  /** The version, and Redis' life, that the read started from. */
  version: number;
  life: string;
  /** When it began, by Redis' clock. */
  startedAt: number;
  /** On upstream's clock. */
  listedAt: number;
  /** {@link KnownContacts.skipped} and {@link KnownContacts.unreadable} from now on. */
  skipped: number;
  unreadable: UnreadableElements;
  /** The stamp of the address that it came from, and that of the first address of the same service. */
  upstream: string;
  service: string;
  /** Taken some at a time. If they end with an error, those before it may be committed, and the list is not read. */
  updates: Iterable<ContactUpdate> | AsyncIterable<ContactUpdate>;
  /** Since when too many contacts are missing, if they are. */
  suspectSince?: number;
  /** Events that are not of one contact. */
  events: readonly NewEvent[];
}

/** The state of one contact's polling. */
export interface ContactState {
  /** Changes with every commit; a commit against an older one is refused. */
  version: number;
  /** Redis' clock, in milliseconds since 1970. */
  now: number;
  memory: PollMemory;
  extension: ContactExtension;
  /** How many polls of it failed in a row. */
  failures: number;
  /** How many elements the longest page held that any contact of the account has shown; 0 before the first. */
  longestPage: number;
  /** Present until everything was read for the first time; see `FirstRead`. */
  tellAfter?: number;
  /** Counts the calls to hasten; one that comes during a poll is honoured after it. */
  hastened: number;
  /** How many messages are stored as known. */
  stored: number;
  /** The epoch of the account's log, if it has one. */
  epoch?: string;
  /** When it was last said that deletions may be believed, by Redis' clock. */
  believedAt?: number;
  /** Since when too many contacts are missing from the list, by Redis' clock. */
  listSuspectSince?: number;
  /** When it was last found that too much of the account is missing, by Redis' clock. */
  suspectAt?: number;
  /** When a poll of any contact was last shown a message, by Redis' clock. */
  shownAt?: number;
  /** How many contacts are known, deleted ones included. */
  contacts: number;
  /** Its record was gone and had to be made anew. */
  lost: boolean;
  /**
   * Above which the revisions of events go on: Redis may have lost its last seconds, and an event that somebody read
   * then must not share its id with another one. 0 while that never was.
   */
  revisionFloor: number;
  /** Redis' life, which ends with a restart or a failover; a commit in another one is refused. */
  life: string;
}

/** What one poll of a contact brought. */
export interface PollCommit {
  /** The version, and Redis' life, that the poll started from. */
  version: number;
  life: string;
  /** {@link ContactState.hastened} at the start. */
  hastened: number;
  /** Whether everything that was known before is forgotten first. */
  afresh: boolean;
  known: ReadonlyMap<string, KnownMessage>;
  events: readonly NewEvent[];
  /**
   * Absent where neither it nor anything else changed, and nobody called to hasten: then the version stays, so that no other
   * read is refused for it.
   */
  memory?: PollMemory;
  /** Absent: as it is. */
  extension?: ContactExtension;
  /** How often it changes, as a bucket of the account's histogram; with {@link dueInMs}. */
  bucket?: number;
  /** When to poll its head next, from now on, in milliseconds; absent: as it was decided before. */
  dueInMs?: number;
  /** A first reading begins, with what it emits; goes on; or is over. */
  baseline: { tellAfter: number } | 'unchanged' | 'over';
  /** When to read below its head, from now on, in milliseconds; unless `anew`, an earlier decision stays. */
  deep: { inMs: number; anew: boolean } | 'unchanged' | 'over';
  /** When it began, by Redis' clock, if it found that too much is missing. */
  suspectAt?: number;
  /** Since when too much of this contact is missing, by Redis' clock; `over` if it was, and is not any more. */
  suspicion?: number | 'over' | undefined;
  /** When it began, by Redis' clock, if it was shown a message. */
  shownAt?: number;
  /** {@link ContactState.longestPage}, if it was shown a longer one. */
  longestPage?: number;
  /** How many elements it found unreadable that were not found before. */
  unreadable: number;
  /** Numbers that messages of this contact were exchanged with. */
  numbers: readonly string[];
  /** What the account's figures take from it. */
  report: PollReport;
}

/** What the feed remembers, one account at a time. Each commit is one step together with its events. */
export interface FeedStore {
  knownContacts(account: string): Promise<KnownContacts>;

  /** The fields of a contact as JSON and its revision, as of the last commit; undefined for an unknown contact. */
  contactRecord(account: string, contactId: string): Promise<{ raw: string; revision: number } | undefined>;

  /** Whether it was committed: not if another list was committed meanwhile. New and changed contacts are due at once. */
  commitContacts(account: string, commit: ListCommit): Promise<boolean>;

  /** Notes that the contact list could not be read; the next good reading ends that. */
  noteListFault(account: string, reason: string): Promise<void>;

  /** Undefined for a contact that no list has shown. */
  contactState(account: string, contactId: string): Promise<ContactState | undefined>;

  /** What is known of these messages; those that are unknown are left out. */
  knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>>;

  /** The account's contacts by how often they change. */
  contactRates(account: string): Promise<ContactRates>;

  /** Everything that is known of a contact's messages. */
  allKnownMessages(account: string, contactId: string): Promise<Map<string, KnownMessage>>;

  /** Whether it was committed: not if another poll was committed since `version`. */
  commitPoll(account: string, contactId: string, commit: PollCommit): Promise<boolean>;

  /** Sees to it that a contact is polled within `ms`; one that is due sooner stays so. */
  hasten(account: string, contactId: string, ms: number): Promise<void>;

  /** Asks for a reading of the contact list soon; many who ask at once get one. */
  wishForList(account: string): Promise<void>;

  /** Whether somebody asked since the last time. */
  takeListWish(account: string): Promise<boolean>;

  /** Who a phone number belongs to, as far as it is known. */
  recipientOf(account: string, phoneNumber: string): Promise<Recipient>;

  overview(account: string): Promise<FeedOverview>;

  /** Notes that deletions that look like an outage may be believed. */
  believeDeletions(account: string): Promise<void>;
}
