import { searchWordsOfContact } from '#conversations';
import type { NewEvent } from '#events';
import { isRecord } from '#platform';
import { type ContactList, phoneNumbersOf, type UpstreamContact } from '#upstream';
import {
  DELETION_EVENT_CHANGES,
  REAPPEARANCE_EVENT_CHANGES,
  wentMissingInSuspectedOutage,
} from '../diff/absence.js';
import type { FeedStore } from '../feed-store.js';
import { diffContactFields } from '../form/contact-fingerprint.js';
import type { VolatileContactFieldTracker } from '../form/volatile-contact-fields.js';
import type { ContactListSnapshot } from '../snapshot/contact-list-snapshot.js';
import type { ListedContact } from '../snapshot/listed-contacts.js';
import {
  mayMissingContactBeUnreadable,
  type UnreadableElementHistory,
} from '../snapshot/unreadable-elements.js';
import type { ContactUpdate } from './list-commit.js';
import type { ChangedContact, SnapshotComparingContactReader } from './snapshot-comparing-contact-reader.js';

/** What a comparison of one contact list with the stored snapshot found. */
export interface ContactListComparison {
  known: ContactListSnapshot;
  /** When the read of the list ended, in milliseconds since 1970 by Redis' clock. */
  endedAt: number;
  tracker: VolatileContactFieldTracker;
  missing: readonly [id: string, before: ListedContact][];
  /**
   * True if the new contacts of the list may be known contacts with new ids. They are then stored without events.
   * This is assumed in two cases: the list probably comes from another messaging service; or it is the first list
   * that suggests an outage, and it contains at least half as many new contacts as known contacts are missing from it
   * (or a commit that was interrupted had found this).
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
 * Decides what is stored and which events are emitted for the contacts that are new, changed, missing or reappeared
 * in one contact list.
 */
export class ContactUpdates {
  /**
   * @param absenceMs a contact counts as deleted if it is missing from two lists that were read at least this many
   * milliseconds apart
   */
  constructor(
    private readonly store: FeedStore,
    private readonly account: string,
    private readonly absenceMs: number,
    private readonly comparison: ContactListComparison,
  ) {}

  /**
   * Yields the contacts that must be stored: first the contacts of the list that are new, changed or reappeared, or
   * have no due time; then the missing contacts whose snapshots change. They are not returned as one array, because
   * all of them together may not fit into memory.
   */
  async *of(list: ContactList<SnapshotComparingContactReader>): AsyncGenerator<ContactUpdate> {
    for await (const wanted of list.requestedContacts()) {
      const changed = list.reader.changed(wanted);
      const updates = await Promise.all(changed.map((one) => this.updateOfListed(one)));
      for (const update of updates) if (update !== undefined) yield update;
    }
    for (const [id, before] of this.comparison.missing) {
      const update = await this.updateOfMissing(id, before);
      if (update !== undefined) yield update;
    }
  }

  private async updateOfListed({
    contact,
    fingerprint,
    verdict: quick,
  }: ChangedContact): Promise<ContactUpdate | undefined> {
    const { known, tracker, isReplaced, emitAfter, areSomeUnscheduled } = this.comparison;
    const before = known.contacts.get(contact.id);
    const isNew = before === undefined;
    // New contacts emit no events in the account's first contact list and in a list that replaces the known one.
    const isBaseline = isNew && (known.listedAt === undefined || isReplaced);
    const record =
      isBaseline || quick === 'same' || quick === 'quiet'
        ? undefined
        : await this.store.contactRecord(this.account, contact.id);
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

  private async updateOfMissing(id: string, before: ListedContact): Promise<ContactUpdate | undefined> {
    const { known, endedAt, isOutageLikely, suspectBefore, unreadable } = this.comparison;
    const update = { id, numbers: [] };
    if (before.missingSince === undefined) {
      return { ...update, listed: { ...before, missingSince: endedAt } };
    }
    if (isOutageLikely || mayMissingContactBeUnreadable(unreadable, before.missingSince)) return undefined;
    if (wentMissingInSuspectedOutage(before, suspectBefore))
      return { ...update, listed: { ...before, missingSince: endedAt } };
    // The time is measured from the end of the earlier read to the beginning of this read, because each read may take
    // long.
    if (known.now - before.missingSince < this.absenceMs) return undefined;
    const record = await this.store.contactRecord(this.account, id);
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
 * Returns the search words of a contact, and the former search words that the fields of the contact no longer
 * contain.
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

function nextRevision(
  { revisionFloor }: ContactListSnapshot,
  record: { revision: number } | undefined,
): number {
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
