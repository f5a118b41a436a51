import { searchWordsOfContact } from '#conversations';
import { type NewEvent } from '#events';
import { isRecord, type Logger, logMessageOf } from '#platform';
import {
  type ContactList,
  phoneNumbersOf,
  type UpstreamContact,
  UpstreamError,
  UpstreamUnavailableError,
} from '#upstream';
import {
  DELETION_EVENT_CHANGES,
  areTooManyElementsMissing,
  REAPPEARANCE_EVENT_CHANGES,
  createAccountSuspectEvent,
  unconfirmedSuspectSince,
  wentMissingInSuspectedOutage,
} from '../diff/absence.js';
import { diffContactFields } from '../form/contact-fingerprint.js';
import { type ChangedContact, SnapshotComparingContactReader } from './snapshot-comparing-contact-reader.js';
import { VolatileContactFieldTracker, NO_VOLATILE_CONTACT_FIELDS } from '../form/volatile-contact-fields.js';
import type { ContactUpdate } from './list-commit.js';
import type { FeedStore } from '../feed-store.js';
import type { KnownContacts } from '../snapshot/known-contacts.js';
import type { ListedContact } from '../snapshot/listed-contacts.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import {
  updateUnreadableElementHistory,
  mayMissingContactBeUnreadable,
  type UnreadableElementHistory,
} from '../snapshot/unreadable-elements.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * Tolerance for a new account: messages that were sent at most this many milliseconds before the account was added
 * emit events too.
 */
const FIRST_LIST_SLACK_MS = 60_000;
/**
 * Messages that were sent more than this many milliseconds before the first read of a new account's contact list emit
 * no events, even if they were sent after the account was added.
 */
const MAX_FIRST_LIST_DELAY_MS = 24 * 3_600_000;
/**
 * Messages of a contact that is new in the contact list emit no events if they were sent more than this many
 * milliseconds before the previous read of the contact list.
 */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

const MAX_COMMIT_CONFLICTS = 3;

/**
 * Returns the time at which an account was added, in milliseconds since 1970 by Redis' clock; undefined if
 * unknown.
 */
export type FindAddedAt = (account: string) => Promise<number | undefined>;

/** What a comparison of one contact list with the stored snapshot found. */
interface ListVerdict {
  known: KnownContacts;
  /** When the read of the list ended, in milliseconds since 1970 by Redis' clock. */
  endedAt: number;
  tracker: VolatileContactFieldTracker;
  missing: readonly [id: string, before: ListedContact][];
  /**
   * True if the contact list is the first one that lacks many known contacts and contains about as many new ones, or if
   * it probably comes from another messaging service. New contacts are then stored without events, because they may be
   * known contacts with new ids.
   */
  isReplaced: boolean;
  /**
   * True if fewer contacts are scheduled for polls than are known. The commit then schedules the contacts
   * that have no due time.
   */
  areSomeUnscheduled: boolean;
  /** True if so many contacts are missing that an outage is likely. No deletion is emitted then. */
  isOutageLikely: boolean;
  /**
   * Time since which earlier reads of the contact list have suggested an outage, in milliseconds since 1970 by Redis'
   * clock; see {@link wentMissingInSuspectedOutage}. Undefined if the previous read did not suggest an outage, or if
   * an administrator has confirmed deletions since the outage was first suspected.
   */
  suspectBefore: number | undefined;
  unreadable: UnreadableElementHistory;
  /**
   * The first read of a new contact emits events for messages whose timestamp is later than this time, in
   * milliseconds since 1970 by upstream's clock.
   */
  emitAfter: number;
}

/**
 * Polls the contact list of an account, and stores which contacts are new, changed, missing or back. A new or
 * changed contact becomes due for a poll at once. A contact counts as deleted if it is missing from two lists
 * that were read at least `absenceMs` milliseconds apart, unless so many contacts are missing that an outage
 * is likely.
 */
export class ContactListPoller {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly absenceMs: number,
    private readonly addedAt: FindAddedAt = () => Promise.resolve(undefined),
    private readonly volatile?: { store: VolatileFieldStore; logger: Logger },
  ) {}

  /**
   * Reads the contact list and commits the result.
   * @throws {UpstreamError} if the list could not be read. The reason for the failure is stored, unless the
   * error is an {@link UpstreamUnavailableError}.
   */
  async poll(account: string, purpose: ReadPurpose = 'poll'): Promise<void> {
    try {
      let done = false;
      for (let race = 0; !done && race < MAX_COMMIT_CONFLICTS; race += 1)
        done = await this.readOnce(account, purpose);
    } catch (error) {
      if (error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError))
        await this.store.recordContactListFailure(account, logMessageOf(error));
      throw error;
    }
  }

  /** Reads the contact list and commits the result. Returns false if another list was committed meanwhile. */
  private async readOnce(account: string, purpose: ReadPurpose): Promise<boolean> {
    const startedAt = performance.now();
    const known = await this.store.knownContacts(account);
    const volatility = (await this.volatile?.store.contactVolatility(account)) ?? NO_VOLATILE_CONTACT_FIELDS;
    // The reply may contain several lists, and only its end shows which of them is the contact list. A reader is
    // created for each list. Each reader has its own tracker, so that a tracker counts only the contacts of one list.
    const list = await this.source.listContacts(
      account,
      purpose,
      () => new SnapshotComparingContactReader(known, new VolatileContactFieldTracker(volatility)),
    );
    const { tracker } = list.reader;
    const endedAt = known.now + Math.round(performance.now() - startedAt);
    try {
      const done = await this.commit(account, known, list, tracker, endedAt);
      if (done) await this.storeVolatility(account, tracker, list.reader.count);
      return done;
    } finally {
      await list.close();
    }
  }

  private async storeVolatility(
    account: string,
    tracker: VolatileContactFieldTracker,
    contacts: number,
  ): Promise<void> {
    const { isToBeStored, volatility, newlyMuted: muted, newlyUnmuted: unmuted } = tracker.conclude();
    if (this.volatile === undefined || !isToBeStored) return;
    const { store, logger } = this.volatile;
    await store.storeContactVolatility(account, volatility, contacts);
    if (muted.length > 0)
      logger.info(
        { account, fields: muted },
        'contact fields are muted, because their values differ at nearly every read: changes of these fields emit no events',
      );
    if (unmuted.length > 0)
      logger.info(
        { account, fields: unmuted },
        'contact fields are no longer muted: changes of these fields emit events again',
      );
  }

  /**
   * Commits the result of a read of the contact list. Returns false if another list was committed meanwhile.
   * @param endedAt when the read ended, in milliseconds since 1970 by Redis' clock
   */
  private async commit(
    account: string,
    known: KnownContacts,
    list: ContactList<SnapshotComparingContactReader>,
    tracker: VolatileContactFieldTracker,
    endedAt: number,
  ): Promise<boolean> {
    // Upstream's clock is preferred, because `listedAt` is compared with the timestamps of messages, which come
    // from upstream.
    const listedAt = list.date ?? known.now;
    const missing = list.reader.missing();
    const { upstream } = list;
    const isOtherService =
      known.upstream !== undefined && known.upstream !== upstream && !showsMostContacts(list, missing);
    const isOutage = areTooManyElementsMissing(
      missing.map(([, before]) => before),
      list.reader.present,
      known.deletionsConfirmedAt,
    );
    const suspectBefore = unconfirmedSuspectSince(known.suspectSince, known.deletionsConfirmedAt);
    const isSuspect = isOutage || (isOtherService && missing.length > 0);
    // Of several consecutive suspect lists, only the first one is treated as a replacement. The lists may be suspect
    // for days, and a contact that first appears in a later suspect list is really new.
    const isReplaced =
      isOtherService ||
      (isSuspect &&
        suspectBefore === undefined &&
        (known.isReplacing || 2 * list.reader.newCount >= missing.length));
    const verdict: ListVerdict = {
      ...{ known, endedAt, tracker, missing, isReplaced },
      areSomeUnscheduled: list.reader.present > known.scheduled,
      isOutageLikely: isSuspect,
      suspectBefore,
      unreadable: updateUnreadableElementHistory(known.unreadable, list.skipped, endedAt),
      emitAfter: await this.emitAfter(account, known, listedAt, isReplaced),
    };
    const suspicion = isSuspect ? suspicionOf(known, missing.length) : undefined;
    if (isOtherService && known.services.get(upstream) === undefined)
      this.volatile?.logger.warn(
        { account, contacts: list.reader.count },
        'many contacts from the previous upstream address are missing at the new address, so the new address probably belongs to a different messaging service; sends that were stored for the previous address are not relayed',
      );
    const done = await this.store.commitContacts(account, {
      version: known.version,
      redisRun: known.redisRun,
      startedAt: known.now,
      listedAt: isSuspect ? (known.listedAt ?? listedAt) : listedAt,
      skipped: missing.length === 0 ? list.skipped : known.skipped,
      unreadable: verdict.unreadable,
      upstream,
      service: serviceOf(known, upstream, isOtherService),
      updates: this.updates(account, list, verdict),
      ...(isSuspect ? { suspectSince: suspectBefore ?? known.now } : {}),
      isReplaced,
      events: suspicion === undefined ? [] : [suspicion],
    });
    if (done && list.skipped > (known.unreadable?.count ?? 0))
      this.volatile?.logger.warn(
        { account, count: list.skipped },
        'the contact list contains elements that cannot be read as contacts; new contacts among them are not polled',
      );
    return done;
  }

  /**
   * Yields the contacts that must be stored: new and changed contacts first, then missing contacts. They are not
   * returned as one array, because all of them together may not fit into memory.
   */
  private async *updates(
    account: string,
    list: ContactList<SnapshotComparingContactReader>,
    verdict: ListVerdict,
  ): AsyncGenerator<ContactUpdate> {
    for await (const wanted of list.requestedContacts()) {
      const changed = list.reader.changed(wanted);
      const updates = await Promise.all(changed.map((one) => this.updateOfListed(account, verdict, one)));
      for (const update of updates) if (update !== undefined) yield update;
    }
    for (const [id, before] of verdict.missing) {
      const update = await this.updateOfMissing(account, verdict, id, before);
      if (update !== undefined) yield update;
    }
  }

  /**
   * Returns the start time for the messages of new contacts, in milliseconds since 1970 by upstream's clock.
   * The first read of a new contact emits events for messages whose timestamp is later than the start time.
   */
  private async emitAfter(
    account: string,
    { wasListedBefore, now, listedAt }: KnownContacts,
    upstreamNow: number,
    replaced: boolean,
  ): Promise<number> {
    if (listedAt !== undefined && !replaced) return listedAt - LATER_CONTACT_SLACK_MS;
    const addedAt = wasListedBefore || replaced ? undefined : await this.addedAt(account);
    const late = Math.min(Math.max(now - (addedAt ?? now), 0), MAX_FIRST_LIST_DELAY_MS);
    return upstreamNow - late - FIRST_LIST_SLACK_MS;
  }

  private async updateOfListed(
    account: string,
    { known, tracker, isReplaced, emitAfter, areSomeUnscheduled }: ListVerdict,
    { contact, fingerprint, verdict: quick }: ChangedContact,
  ): Promise<ContactUpdate | undefined> {
    const before = known.contacts.get(contact.id);
    const isNew = before === undefined;
    // New contacts emit no events in the account's first contact list and in a list that replaces the known one.
    const isBaseline = isNew && (known.listedAt === undefined || isReplaced);
    const record =
      isBaseline || quick === 'same' || quick === 'quiet'
        ? undefined
        : await this.store.contactRecord(account, contact.id);
    const changes = diffContactFields(record?.raw, contact);
    const verdict = quick === 'differs' ? tracker.verdict(contact, Object.keys(changes)) : quick;
    const listed = {
      fingerprint: verdict === 'withheld' && before !== undefined ? before.fingerprint : fingerprint,
      deleted: false,
    };
    const update = { id: contact.id, listed, numbers: phoneNumbersOf(contact), emitAfter };
    if (verdict === 'withheld' && before?.missingSince === undefined && !areSomeUnscheduled) return undefined;
    if (verdict !== 'changed') return update;
    const raw = JSON.stringify(contact.raw);
    const words = wordsOfChange(record?.raw, contact.raw);
    if (isBaseline) return { ...update, raw, words };
    const revision = nextRevision(known, record);
    if (isNew)
      return { ...update, raw, words, event: contactEvent('contact.created', contact, revision, {}) };
    const event = before.deleted
      ? contactEvent('contact.created', contact, revision, REAPPEARANCE_EVENT_CHANGES)
      : contactEvent('contact.updated', contact, revision, tracker.withoutMuted(changes));
    return { ...update, raw, words, event };
  }

  private async updateOfMissing(
    account: string,
    { known, endedAt, isOutageLikely, suspectBefore, unreadable }: ListVerdict,
    id: string,
    before: ListedContact,
  ): Promise<ContactUpdate | undefined> {
    const update = { id, numbers: [] };
    if (before.missingSince === undefined) {
      return { ...update, listed: { ...before, missingSince: endedAt } };
    }
    if (isOutageLikely || mayMissingContactBeUnreadable(unreadable, before.missingSince)) return undefined;
    if (wentMissingInSuspectedOutage(before, suspectBefore))
      return { ...update, listed: { ...before, missingSince: endedAt } };
    // From the end of the earlier read to the beginning of this one: each of them may have waited for a long time.
    if (known.now - before.missingSince < this.absenceMs) return undefined;
    const record = await this.store.contactRecord(account, id);
    const last: unknown = JSON.parse(record?.raw ?? '{}');
    return {
      ...update,
      listed: { fingerprint: before.fingerprint, deleted: true },
      event: {
        type: 'contact.deleted',
        contactId: id,
        subject: `contact:${id}`,
        revision: nextRevision(known, record),
        data: { contact: isRecord(last) && 'id' in last ? last : { id }, changes: DELETION_EVENT_CHANGES },
      },
    };
  }
}

/**
 * Returns the search words of a contact, and the words that its fields no longer contain.
 * @param before the contact as JSON before the change; undefined for a new contact
 */
function wordsOfChange(
  before: string | undefined,
  after: Readonly<Record<string, unknown>>,
): NonNullable<ContactUpdate['words']> {
  const earlier: unknown = JSON.parse(before ?? '{}');
  const had = isRecord(earlier) ? searchWordsOfContact(earlier) : [];
  const has = searchWordsOfContact(after);
  return { all: has, removed: had.filter((word) => !has.includes(word)) };
}

/** Returns true if the list contains more than half of the known contacts. */
function showsMostContacts(
  { reader: { present } }: ContactList<SnapshotComparingContactReader>,
  missing: readonly unknown[],
): boolean {
  return present > 0 && missing.length * 2 < present;
}

/**
 * Returns the messaging service behind an upstream address. A service is identified by the hash of its first
 * address.
 * @param address hash of the upstream address
 * @param isAnother `true` if an unknown address belongs to a new service; `false` if it belongs to the service of
 * the previous address
 */
function serviceOf({ services, upstream }: KnownContacts, address: string, isAnother: boolean): string {
  const before = upstream === undefined || isAnother ? undefined : services.get(upstream);
  return services.get(address) ?? before ?? address;
}

function nextRevision({ revisionFloor }: KnownContacts, record: { revision: number } | undefined): number {
  return Math.max(record?.revision ?? 0, revisionFloor) + 1;
}

function contactEvent(
  type: 'contact.created' | 'contact.updated',
  contact: UpstreamContact,
  revision: number,
  changes: Record<string, unknown>,
): NewEvent {
  return {
    type,
    contactId: contact.id,
    subject: `contact:${contact.id}`,
    revision,
    data: { contact: contact.raw, changes },
  };
}

function suspicionOf({ now, suspectAt }: KnownContacts, count: number): NewEvent | undefined {
  return createAccountSuspectEvent(now, suspectAt, {
    reason: 'upstream shows far fewer contacts than before',
    count,
  });
}
