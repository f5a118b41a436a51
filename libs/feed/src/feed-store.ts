import type { NewEvent } from '#events';
import type { ActivityRate } from './adaptive-interval.js';
import type { KnownMessage } from './known-message.js';
import type { PageOrder } from './page-order.js';

/** What is known of the account's contact list. */
export interface KnownContacts {
  /** Changes with every commit; a commit against an older one is refused. */
  version: number;
  /** When the list was last read in full, on upstream's clock; absent before the first time. */
  listedAt?: number;
  /** The fingerprint of each contact's fields, by id. */
  contacts: ReadonlyMap<string, string>;
}

/** A contact that is new or changed in the list. */
export interface ContactUpdate {
  id: string;
  /** What upstream said of it, as JSON. */
  raw: string;
  fingerprint: string;
  /** The E.164 numbers among its fields. */
  numbers: readonly string[];
  /** For a new contact: which messages its first read will tell; see `FirstRead`. */
  tellAfter?: number;
  /** At most one event a contact. */
  event?: NewEvent;
}

/** The state of one contact's polling. */
export interface ContactState {
  /** Changes with every commit; a commit against an older one is refused. */
  version: number;
  order: PageOrder;
  /** Present until the first read was committed. */
  tellAfter?: number;
  activity?: ActivityRate;
  /** The share that is counted in {@link ContactState.shares}. */
  share: number;
  /** The sum of all contacts' shares. */
  shares: number;
  /** Counts the calls to hasten; one that comes during a poll is honoured after it. */
  hastened: number;
}

/** What one poll of a contact brought. */
export interface PollCommit {
  /** The version that the poll started from. */
  version: number;
  /** {@link ContactState.hastened} at the start. */
  hastened: number;
  known: ReadonlyMap<string, KnownMessage>;
  events: readonly NewEvent[];
  order: PageOrder;
  activity: ActivityRate;
  share: number;
  /** When to poll next, from now on, in milliseconds. */
  dueInMs: number;
  /** Numbers that messages of this contact were exchanged with. */
  numbers: readonly string[];
}

/** What the feed remembers, one account at a time. Each commit is one step together with its events. */
export interface FeedStore {
  knownContacts(account: string): Promise<KnownContacts>;

  /** The fields of a contact as JSON and its revision, as of the last commit; undefined for an unknown contact. */
  contactRecord(account: string, contactId: string): Promise<{ raw: string; revision: number } | undefined>;

  /** Whether it was committed: not if another list was committed since `version`. New contacts are due at once. */
  commitContacts(
    account: string,
    version: number,
    listedAt: number,
    updates: readonly ContactUpdate[],
  ): Promise<boolean>;

  /** Undefined for a contact that no list has shown. */
  contactState(account: string, contactId: string): Promise<ContactState | undefined>;

  /** What is known of these messages; those that are unknown are left out. */
  knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>>;

  /** Whether it was committed: not if another poll was committed since `version`. */
  commitPoll(account: string, contactId: string, commit: PollCommit): Promise<boolean>;

  /** Contacts that are due, at most `count`; each is not due again before `leaseMs` have gone by. */
  claimDue(account: string, count: number, leaseMs: number): Promise<string[]>;

  /** Sees to it that a contact is polled within `ms`; one that is due sooner stays so. */
  hasten(account: string, contactId: string, ms: number): Promise<void>;

  /** Puts the next poll of a contact off to `ms` from now. */
  postpone(account: string, contactId: string, ms: number): Promise<void>;

  /** Asks for a reading of the contact list soon; many who ask at once get one. */
  wishForList(account: string): Promise<void>;

  /** Whether somebody asked since the last time. */
  takeListWish(account: string): Promise<boolean>;

  /** The contact that a phone number belongs to, as far as it is known. */
  contactOf(account: string, phoneNumber: string): Promise<string | undefined>;
}
