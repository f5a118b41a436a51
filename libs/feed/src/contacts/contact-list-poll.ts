import { type NewEvent } from '#events';
import { type Logger, logMessageOf } from '#platform';
import {
  type ContactList,
  isRecord,
  phoneNumbersOf,
  type UpstreamContact,
  UpstreamError,
  UpstreamUnavailableError,
} from '#upstream';
import { DELETED_CHANGES, suggestsOutage, RETURNED_CHANGES, suspectEvent } from '../diff/absence.js';
import { contactChanges } from '../form/contact-fingerprint.js';
import { type ChangedContact, ContactListComparison } from './contact-list-comparison.js';
import { ContactVolatilityTracker, NO_CONTACT_VOLATILITY } from '../form/contact-volatility.js';
import type { ContactUpdate, FeedStore, KnownContacts, ListedContact } from '../feed-store.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import {
  unreadableAfterList,
  mayBeUnreadable,
  type UnreadableElements,
} from '../snapshot/unreadable-elements.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * First read of a contact from the account's first list: messages that are older than the account by at most
 * this time, in milliseconds, are emitted.
 */
const FIRST_LIST_SLACK_MS = 60_000;
/** Upper bound of the delay between account creation and first list that is compensated, in milliseconds. */
const MAX_FIRST_LIST_DELAY_MS = 24 * 3_600_000;
/**
 * First read of a contact that appears in a later list: messages that are older than the previous list by at
 * most this time, in milliseconds, are emitted.
 */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

const MAX_COMMIT_CONFLICTS = 3;

/**
 * Returns the time at which an account was added, in milliseconds since 1970 by Redis' clock; undefined if
 * unknown.
 */
export type FindAddedAt = (account: string) => Promise<number | undefined>;

/** What the comparison of one contact list with the snapshot shows. */
interface ListVerdict {
  known: KnownContacts;
  tracker: ContactVolatilityTracker;
  missing: readonly [id: string, before: ListedContact][];
  /** True if upstream shows other contacts than before: its new contacts form a new baseline without events. */
  isReplaced: boolean;
  /** True if fewer contacts are scheduled than known; the commit finds out which ones to schedule again. */
  areSomeUnscheduled: boolean;
  /** True if so many contacts are missing that no deletion is emitted. */
  isOutageLikely: boolean;
  unreadable: UnreadableElements;
  /**
   * The first read of a new contact emits messages with a later timestamp than this, in milliseconds since 1970
   * by upstream's clock.
   */
  emitAfter: number;
}

/**
 * Polls the contact list and commits new, changed, missing and returned contacts. A changed contact is due at
 * once. A contact is deleted if two lists at least `absenceMs` apart lack it, unless so many contacts vanish
 * together that an outage is more likely.
 */
export class ContactListPoll {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly absenceMs: number,
    private readonly addedAt: FindAddedAt = () => Promise.resolve(undefined),
    private readonly volatile?: { store: VolatileFieldStore; logger: Logger },
  ) {}

  /**
   * @throws {UpstreamError} if the list could not be read; the store keeps the reason, and nothing is committed
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

  /** Reads and commits the list. Returns false if another list was committed meanwhile. */
  private async readOnce(account: string, purpose: ReadPurpose): Promise<boolean> {
    const known = await this.store.knownContacts(account);
    const volatility = (await this.volatile?.store.contactVolatility(account)) ?? NO_CONTACT_VOLATILITY;
    // A list whose first response broke off is read twice, but must be counted once.
    let tracker = new ContactVolatilityTracker(volatility);
    const newReader = (): ContactListComparison => {
      tracker = new ContactVolatilityTracker(volatility);
      return new ContactListComparison(known, tracker);
    };
    const list = await this.source.listContacts(account, purpose, newReader);
    try {
      const done = await this.commit(account, known, list, tracker);
      if (done) await this.storeVolatility(account, tracker, list.reader.count);
      return done;
    } finally {
      await list.close();
    }
  }

  private async storeVolatility(
    account: string,
    tracker: ContactVolatilityTracker,
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

  /** Commits the list. Returns false if another list was committed meanwhile. */
  private async commit(
    account: string,
    known: KnownContacts,
    list: ContactList<ContactListComparison>,
    tracker: ContactVolatilityTracker,
  ): Promise<boolean> {
    // Upstream's clock is preferred, because message timestamps are compared with this time.
    const listedAt = list.date ?? known.now;
    const missing = list.reader.missing();
    const areDeletionsConfirmed =
      known.suspectSince !== undefined && (known.deletionsConfirmedAt ?? 0) >= known.suspectSince;
    const { upstream } = list;
    const isOtherService =
      known.upstream !== undefined && known.upstream !== upstream && !showsMostContacts(list, missing);
    const isOutage = suggestsOutage(missing.length, list.reader.present) && !areDeletionsConfirmed;
    const isSuspect = isOutage || (isOtherService && missing.length > 0);
    const verdict: ListVerdict = {
      ...{ known, tracker, missing, isReplaced: isSuspect || isOtherService },
      areSomeUnscheduled: list.reader.present > known.scheduled,
      isOutageLikely: isSuspect,
      unreadable: unreadableAfterList(known.unreadable, list.skipped, known.now),
      emitAfter: await this.emitAfter(account, known, listedAt, isSuspect || isOtherService),
    };
    const suspicion = isSuspect ? suspicionOf(known, missing.length) : undefined;
    if (isOtherService && known.services.get(upstream) === undefined)
      this.volatile?.logger.warn(
        { account, contacts: list.reader.count },
        'the new upstream address shows other contacts, so it probably belongs to another messaging service; sends that were accepted for the previous address are not relayed',
      );
    return this.store.commitContacts(account, {
      version: known.version,
      redisRun: known.redisRun,
      startedAt: known.now,
      // Which messages of later contacts are emitted depends on the time of the last list that was not suspect.
      listedAt: isSuspect ? (known.listedAt ?? listedAt) : listedAt,
      skipped: missing.length === 0 ? list.skipped : known.skipped,
      unreadable: verdict.unreadable,
      upstream,
      service: serviceOf(known, upstream, isOtherService),
      updates: this.updates(account, list, verdict),
      ...(isSuspect ? { suspectSince: known.suspectSince ?? known.now } : {}),
      events: suspicion === undefined ? [] : [suspicion],
    });
  }

  /**
   * Yields the changes one by one, because all changes together may not fit into memory. Contacts of the list
   * come first.
   */
  private async *updates(
    account: string,
    list: ContactList<ContactListComparison>,
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
   * Returns the timestamp above which the first read of a new contact emits messages, in milliseconds since
   * 1970 by upstream's clock.
   */
  private async emitAfter(
    account: string,
    { version, now, listedAt }: KnownContacts,
    upstreamNow: number,
    replaced: boolean,
  ): Promise<number> {
    if (listedAt !== undefined && !replaced) return listedAt - LATER_CONTACT_SLACK_MS;
    // An earlier list was committed, so the account is not new. Only its snapshot was lost.
    const addedAt = version > 0 || replaced ? undefined : await this.addedAt(account);
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
    // Contacts of the first list and of a replaced upstream form a baseline without events.
    const isBaseline = isNew && (known.listedAt === undefined || isReplaced);
    const record =
      isBaseline || quick === 'same' || quick === 'quiet'
        ? undefined
        : await this.store.contactRecord(account, contact.id);
    const changes = contactChanges(record?.raw, contact);
    const verdict = quick === 'differs' ? tracker.verdict(contact, Object.keys(changes)) : quick;
    const listed = {
      fingerprint: verdict === 'withheld' && before !== undefined ? before.fingerprint : fingerprint,
      deleted: false,
    };
    const update = { id: contact.id, listed, numbers: phoneNumbersOf(contact), emitAfter };
    if (verdict === 'withheld' && before?.missingSince === undefined && !areSomeUnscheduled) return undefined;
    if (verdict !== 'changed') return update;
    const raw = JSON.stringify(contact.raw);
    if (isBaseline) return { ...update, raw };
    const revision = nextRevision(known, record);
    if (isNew) return { ...update, raw, event: contactEvent('contact.created', contact, revision, {}) };
    const event = before.deleted
      ? contactEvent('contact.created', contact, revision, RETURNED_CHANGES)
      : contactEvent('contact.updated', contact, revision, tracker.withoutMuted(changes));
    return { ...update, raw, event };
  }

  private async updateOfMissing(
    account: string,
    { known, isOutageLikely, unreadable }: ListVerdict,
    id: string,
    before: ListedContact,
  ): Promise<ContactUpdate | undefined> {
    const update = { id, numbers: [] };
    if (before.missingSince === undefined) {
      return { ...update, listed: { ...before, missingSince: known.now } };
    }
    if (isOutageLikely || mayBeUnreadable(unreadable, before.missingSince)) return undefined;
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
        data: { contact: isRecord(last) && 'id' in last ? last : { id }, changes: DELETED_CHANGES },
      },
    };
  }
}

/** Returns true if the list contains most of the known contacts. */
function showsMostContacts(
  { reader: { present } }: ContactList<ContactListComparison>,
  missing: readonly unknown[],
): boolean {
  return present > 0 && missing.length * 2 < present;
}

/**
 * Returns the service that an upstream address leads to, identified by the hash of the first address that led
 * to it. A mapping that is already stored stays.
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
  return suspectEvent(now, suspectAt, { reason: 'upstream shows far fewer contacts than before', count });
}
