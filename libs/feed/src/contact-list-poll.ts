import { type NewEvent } from '#events';
import type { Logger } from '#platform';
import { type ContactList, isRecord, phoneNumbersOf, type UpstreamContact } from '#upstream';
import { GONE, isTooMany, RETURNED, suspectEvent } from './absence.js';
import { contactChanges } from './contact-fingerprint.js';
import { ContactListLesson, NO_CONTACT_VOLATILITY } from './contact-volatility.js';
import type { ContactUpdate, FeedStore, KnownContacts, ListedContact } from './feed-store.js';
import type { FeedSource, ReadPurpose } from './ports.js';
import type { VolatileFieldStore } from './volatile-fields.js';

/** A contact of the first list: messages stamped so long before the account was added are still told. */
const FIRST_LIST_SLACK_MS = 60_000;
/** An account whose first list comes late, as upstream was away: what is older than this is not told all the same. */
const LATEST_FIRST_LIST_MS = 24 * 3_600_000;
/** A contact that appears later: messages so much older than the last good list are still told. */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

const MOST_RACES = 3;

/** When an account was added, in milliseconds since 1970 by Redis' clock; undefined where nothing of it is known yet. */
export type WhenAdded = (account: string) => Promise<number | undefined>;

type ContactRecord = Awaited<ReturnType<FeedStore['contactRecord']>>;

/** What one list says of the contacts, against what is known. */
interface ListDiff {
  updates: ContactUpdate[];
  missing: number;
  /** How many contacts are missing, if they are too many to be believed. */
  suspected: number;
}

/**
 * Reads the contact list and commits which contacts are new, changed, gone or back; a changed contact is polled at
 * once. Two lists at least `absenceMs` apart that do not show a contact make it a deleted one, unless so many vanish
 * together that an outage is the likelier cause.
 */
export class ContactListPoll {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly absenceMs: number,
    private readonly addedAt: WhenAdded = () => Promise.resolve(undefined),
    private readonly volatile?: { store: VolatileFieldStore; logger: Logger },
  ) {}

  /** @throws {UpstreamError} if the list could not be read; nothing was committed then */
  async poll(account: string, purpose: ReadPurpose = 'poll'): Promise<void> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const known = await this.store.knownContacts(account);
      const list = await this.source.listContacts(account, purpose);
      // On upstream's clock where it tells it: its stamps are what is compared.
      const listedAt = list.date ?? known.now;
      const lesson = new ContactListLesson(
        (await this.volatile?.store.contactVolatility(account)) ?? NO_CONTACT_VOLATILITY,
      );
      const { updates, suspected, missing } = await this.compare(account, known, list, listedAt, lesson);
      const suspicion = suspected > 0 ? suspicionOf(known, suspected) : undefined;
      const done = await this.store.commitContacts(account, {
        version: known.version,
        life: known.life,
        // Only a good list is one that later contacts are measured by.
        listedAt: suspected > 0 ? (known.listedAt ?? listedAt) : listedAt,
        skipped: missing === 0 ? list.skipped : known.skipped,
        updates,
        ...(suspected > 0 ? { suspectSince: known.suspectSince ?? known.now } : {}),
        events: suspicion === undefined ? [] : [suspicion],
      });
      if (done) {
        await this.keep(account, lesson, list.items.length);
        return;
      }
    }
  }

  private async keep(account: string, lesson: ContactListLesson, contacts: number): Promise<void> {
    const { isNews, volatility, newlyMuted, newlyHeard } = lesson.conclude();
    if (this.volatile === undefined || !isNews) return;
    const { store, logger } = this.volatile;
    await store.keepContactVolatility(account, volatility, contacts);
    if (newlyMuted.length > 0)
      logger.info(
        { account, fields: newlyMuted },
        'contact fields are muted: they differ at nearly every read',
      );
    if (newlyHeard.length > 0)
      logger.info({ account, fields: newlyHeard }, 'contact fields are no longer muted');
  }

  private async compare(
    account: string,
    known: KnownContacts,
    { items, skipped }: ContactList,
    listedAt: number,
    lesson: ContactListLesson,
  ): Promise<ListDiff> {
    const listed = new Map(items.map((contact) => [contact.id, contact]));
    const missing = [...known.contacts].filter(([id, { deleted }]) => !deleted && !listed.has(id));
    const present = [...known.contacts.values()].filter(({ deleted }) => !deleted).length;
    const believed = known.suspectSince !== undefined && (known.believedAt ?? 0) >= known.suspectSince;
    const tooMany = isTooMany(missing.length, present) && !believed;
    const updates: ContactUpdate[] = [];
    const telling = await this.tellAfter(account, known, listedAt, tooMany);
    for (const contact of listed.values()) {
      const update = await this.shown(
        account,
        known,
        contact,
        lesson,
        telling,
        tooMany,
        present > known.scheduled,
      );
      if (update !== undefined) updates.push(update);
    }
    for (const [id, before] of missing) {
      // One of those that cannot be read may be the one that is missing.
      const update = await this.absent(account, known, id, before, tooMany || skipped > known.skipped);
      if (update !== undefined) updates.push(update);
    }
    return { updates, missing: missing.length, suspected: tooMany ? missing.length : 0 };
  }

  /** Messages of contacts that are new in this list are told if they are stamped later; on upstream's clock. */
  private async tellAfter(
    account: string,
    { version, now, listedAt }: KnownContacts,
    upstreamNow: number,
    replaced: boolean,
  ): Promise<number> {
    if (listedAt !== undefined && !replaced) return listedAt - LATER_CONTACT_SLACK_MS;
    // One that was read before is not new: only where it stood is lost.
    const addedAt = version > 0 || replaced ? undefined : await this.addedAt(account);
    const late = Math.min(Math.max(now - (addedAt ?? now), 0), LATEST_FIRST_LIST_MS);
    return upstreamNow - late - FIRST_LIST_SLACK_MS;
  }

  private async shown(
    account: string,
    known: KnownContacts,
    contact: UpstreamContact,
    lesson: ContactListLesson,
    tellAfter: number,
    replaced: boolean,
    someUnscheduled: boolean,
  ): Promise<ContactUpdate | undefined> {
    const before = known.contacts.get(contact.id);
    const record = once(() => this.store.contactRecord(account, contact.id));
    const returned = before?.deleted === true;
    const verdict =
      before === undefined || returned
        ? 'changed'
        : await lesson.verdict(contact, before.fingerprint, async () =>
            Object.keys(contactChanges((await record())?.raw, contact)),
          );
    const changed = verdict === 'changed';
    const isKept = verdict === 'same' || verdict === 'withheld';
    const isOld = isKept && before?.missingSince === undefined;
    if (isOld && !someUnscheduled) return undefined;
    const fingerprint = isKept && before !== undefined ? before.fingerprint : lesson.fingerprintOf(contact);
    const listed: ListedContact = { fingerprint, deleted: false };
    const event = changed ? await this.eventOf(known, contact, before, lesson, replaced, record) : undefined;
    return {
      id: contact.id,
      listed,
      numbers: phoneNumbersOf(contact),
      tellAfter,
      ...(changed ? { raw: JSON.stringify(contact.raw) } : {}),
      ...(event === undefined ? {} : { event }),
    };
  }

  private async eventOf(
    known: KnownContacts,
    contact: UpstreamContact,
    before: ListedContact | undefined,
    lesson: ContactListLesson,
    replaced: boolean,
    readRecord: () => Promise<ContactRecord>,
  ): Promise<NewEvent | undefined> {
    // The contacts of the first list were there before, and those of a replaced upstream are no news.
    if (before === undefined && (known.listedAt === undefined || replaced)) return undefined;
    const record = await readRecord();
    const revision = nextRevision(known, record);
    if (before === undefined) return contactEvent('contact.created', contact, revision, {});
    if (before.deleted) return contactEvent('contact.created', contact, revision, RETURNED);
    const changes = lesson.named(contactChanges(record?.raw, contact));
    return contactEvent('contact.updated', contact, revision, changes);
  }

  private async absent(
    account: string,
    known: KnownContacts,
    id: string,
    before: ListedContact,
    doubted: boolean,
  ): Promise<ContactUpdate | undefined> {
    const update = { id, numbers: [] };
    if (before.missingSince === undefined) {
      return { ...update, listed: { ...before, missingSince: known.now } };
    }
    if (doubted || known.now - before.missingSince < this.absenceMs) return undefined;
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
        data: { contact: isRecord(last) && 'id' in last ? last : { id }, changes: GONE },
      },
    };
  }
}

function nextRevision({ revisionFloor }: KnownContacts, record: { revision: number } | undefined): number {
  return Math.max(record?.revision ?? 0, revisionFloor) + 1;
}

/** Asks once, however often the answer is wanted. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => (answer ??= ask());
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
