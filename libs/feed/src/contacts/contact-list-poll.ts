import { type NewEvent } from '#events';
import { type Logger, logWords } from '#platform';
import {
  type ContactList,
  isRecord,
  phoneNumbersOf,
  type UpstreamContact,
  UpstreamError,
  UpstreamUnavailableError,
} from '#upstream';
import { GONE, isTooMany, RETURNED, suspectEvent } from '../diff/absence.js';
import { contactChanges } from '../form/contact-fingerprint.js';
import { type ChangedContact, ContactListReading } from './contact-list-reading.js';
import { ContactListLesson, NO_CONTACT_VOLATILITY } from '../form/contact-volatility.js';
import type { ContactUpdate, FeedStore, KnownContacts, ListedContact } from '../feed-store.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import { afterList, mayBeUnreadable, type UnreadableElements } from '../snapshot/unreadable-elements.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/** A contact of the first list: messages stamped so long before the account was added are still told. */
const FIRST_LIST_SLACK_MS = 60_000;
/** An account whose first list comes late, as upstream was away: what is older than this is not told all the same. */
const LATEST_FIRST_LIST_MS = 24 * 3_600_000;
/** A contact that appears later: messages so much older than the last good list are still told. */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

const MOST_RACES = 3;

/** When an account was added, in milliseconds since 1970 by Redis' clock; undefined where nothing of it is known yet. */
export type WhenAdded = (account: string) => Promise<number | undefined>;

/** What one list says of the contacts, against what is known. */
interface ListVerdict {
  known: KnownContacts;
  lesson: ContactListLesson;
  missing: readonly [id: string, before: ListedContact][];
  /** Upstream shows another world than before: what is new in it is no news. */
  isReplaced: boolean;
  /** Some contacts are to be scheduled again; the commit sees whom. */
  someUnscheduled: boolean;
  /** No deletion is believed: too many are missing. */
  doubted: boolean;
  unreadable: UnreadableElements;
  /** Messages of contacts that are new in this list are told if they are stamped later; on upstream's clock. */
  tellAfter: number;
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

  /** @throws {UpstreamError} if the list could not be read; it is noted, and nothing else was committed then */
  async poll(account: string, purpose: ReadPurpose = 'poll'): Promise<void> {
    try {
      let done = false;
      for (let race = 0; !done && race < MOST_RACES; race += 1) done = await this.readOnce(account, purpose);
    } catch (error) {
      if (error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError))
        await this.store.noteListFault(account, logWords(error));
      throw error;
    }
  }

  /** Whether it was committed. */
  private async readOnce(account: string, purpose: ReadPurpose): Promise<boolean> {
    const known = await this.store.knownContacts(account);
    const learned = (await this.volatile?.store.contactVolatility(account)) ?? NO_CONTACT_VOLATILITY;
    // A list that is read twice, since its first reply could not be read to the end, is counted once.
    let lesson = new ContactListLesson(learned);
    const newReader = (): ContactListReading => {
      lesson = new ContactListLesson(learned);
      return new ContactListReading(known, lesson);
    };
    const list = await this.source.listContacts(account, purpose, newReader);
    try {
      const done = await this.commit(account, known, list, lesson);
      if (done) await this.keep(account, lesson, list.reader.count);
      return done;
    } finally {
      await list.close();
    }
  }

  private async keep(account: string, lesson: ContactListLesson, contacts: number): Promise<void> {
    const { isNews, volatility, newlyMuted: muted, newlyHeard: heard } = lesson.conclude();
    if (this.volatile === undefined || !isNews) return;
    const { store, logger } = this.volatile;
    await store.keepContactVolatility(account, volatility, contacts);
    if (muted.length > 0)
      logger.info({ account, fields: muted }, 'contact fields are muted: they differ at nearly every read');
    if (heard.length > 0) logger.info({ account, fields: heard }, 'contact fields are no longer muted');
  }

  /** Whether it was committed: not if another list was committed meanwhile. */
  private async commit(
    account: string,
    known: KnownContacts,
    list: ContactList<ContactListReading>,
    lesson: ContactListLesson,
  ): Promise<boolean> {
    // On upstream's clock where it tells it: its stamps are what is compared.
    const listedAt = list.date ?? known.now;
    const missing = list.reader.missing();
    const believed = known.suspectSince !== undefined && (known.believedAt ?? 0) >= known.suspectSince;
    const { upstream } = list;
    const isAnother = known.upstream !== undefined && known.upstream !== upstream && !isShown(list, missing);
    const isOutage = isTooMany(missing.length, list.reader.present) && !believed;
    const tooMany = isOutage || (isAnother && missing.length > 0);
    const verdict: ListVerdict = {
      ...{ known, lesson, missing, isReplaced: tooMany || isAnother },
      someUnscheduled: list.reader.present > known.scheduled,
      doubted: tooMany,
      unreadable: afterList(known.unreadable, list.skipped, known.now),
      tellAfter: await this.tellAfter(account, known, listedAt, tooMany || isAnother),
    };
    const suspicion = tooMany ? suspicionOf(known, missing.length) : undefined;
    if (isAnother && known.services.get(upstream) === undefined)
      this.volatile?.logger.warn(
        { account, contacts: list.reader.count },
        'the new upstream address shows other contacts: it is taken for another service, and sends that were accepted for the former one are held',
      );
    return this.store.commitContacts(account, {
      version: known.version,
      life: known.life,
      startedAt: known.now,
      // Only a good list is one that later contacts are measured by.
      listedAt: tooMany ? (known.listedAt ?? listedAt) : listedAt,
      skipped: missing.length === 0 ? list.skipped : known.skipped,
      unreadable: verdict.unreadable,
      upstream,
      service: serviceOf(known, upstream, isAnother),
      updates: this.updates(account, list, verdict),
      ...(tooMany ? { suspectSince: known.suspectSince ?? known.now } : {}),
      events: suspicion === undefined ? [] : [suspicion],
    });
  }

  /** Those that the list shows come first. They are made up as they are committed: all of them may be too many to hold. */
  private async *updates(
    account: string,
    list: ContactList<ContactListReading>,
    verdict: ListVerdict,
  ): AsyncGenerator<ContactUpdate> {
    for await (const wanted of list.wanted()) {
      const changed = list.reader.changed(wanted);
      const updates = await Promise.all(changed.map((one) => this.shown(account, verdict, one)));
      for (const update of updates) if (update !== undefined) yield update;
    }
    for (const [id, before] of verdict.missing) {
      const update = await this.absent(account, verdict, id, before);
      if (update !== undefined) yield update;
    }
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
    { known, lesson, isReplaced, tellAfter, someUnscheduled }: ListVerdict,
    { contact, fingerprint, verdict: quick }: ChangedContact,
  ): Promise<ContactUpdate | undefined> {
    const before = known.contacts.get(contact.id);
    const isNew = before === undefined;
    // The contacts of the first list were there before, and those of a replaced upstream are no news.
    const isBaseline = isNew && (known.listedAt === undefined || isReplaced);
    const record =
      isBaseline || quick === 'same' || quick === 'quiet'
        ? undefined
        : await this.store.contactRecord(account, contact.id);
    const changes = contactChanges(record?.raw, contact);
    const verdict = quick === 'differs' ? lesson.verdict(contact, Object.keys(changes)) : quick;
    const listed = {
      fingerprint: verdict === 'withheld' && before !== undefined ? before.fingerprint : fingerprint,
      deleted: false,
    };
    const update = { id: contact.id, listed, numbers: phoneNumbersOf(contact), tellAfter };
    if (verdict === 'withheld' && before?.missingSince === undefined && !someUnscheduled) return undefined;
    if (verdict !== 'changed') return update;
    const raw = JSON.stringify(contact.raw);
    if (isBaseline) return { ...update, raw };
    const revision = nextRevision(known, record);
    if (isNew) return { ...update, raw, event: contactEvent('contact.created', contact, revision, {}) };
    const event = before.deleted
      ? contactEvent('contact.created', contact, revision, RETURNED)
      : contactEvent('contact.updated', contact, revision, lesson.named(changes));
    return { ...update, raw, event };
  }

  private async absent(
    account: string,
    { known, doubted, unreadable }: ListVerdict,
    id: string,
    before: ListedContact,
  ): Promise<ContactUpdate | undefined> {
    const update = { id, numbers: [] };
    if (before.missingSince === undefined) {
      return { ...update, listed: { ...before, missingSince: known.now } };
    }
    if (doubted || mayBeUnreadable(unreadable, before.missingSince)) return undefined;
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
        data: { contact: isRecord(last) && 'id' in last ? last : { id }, changes: GONE },
      },
    };
  }
}

/** Whether most of the contacts that were known are shown. */
function isShown(
  { reader: { present } }: ContactList<ContactListReading>,
  missing: readonly unknown[],
): boolean {
  return present > 0 && missing.length * 2 < present;
}

/** Which service an address is of, by the stamp of its first address: what was found once stays. */
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
