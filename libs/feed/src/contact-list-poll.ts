import { createHash } from 'node:crypto';
import { type NewEvent } from '#events';
import type { Clock } from '#platform';
import { isRecord, phoneNumbersOf, type UpstreamContact } from '#upstream';
import type { ContactUpdate, FeedStore, KnownContacts } from './feed-store.js';
import { canonicalJson } from './fingerprint.js';
import type { FeedSource, ReadPurpose } from './ports.js';

/** A contact of the first list: messages stamped so long before the account was added are still told. */
const FIRST_LIST_SLACK_MS = 60_000;
/** A contact that appears later: messages so much older than the last good list are still told. */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

const MOST_RACES = 3;

/** Reads the contact list and commits which contacts are new or changed; a changed contact is polled at once. */
export class ContactListPoll {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly clock: Clock,
  ) {}

  /** @throws {UpstreamError} if the list could not be read; nothing was committed then */
  async poll(account: string, purpose: ReadPurpose = 'poll'): Promise<void> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const known = await this.store.knownContacts(account);
      const list = await this.source.listContacts(account, purpose);
      // On upstream's clock where it tells it: its stamps are what is compared.
      const listedAt = list.date ?? this.clock.now();
      const updates = await this.updates(account, known, list.items, listedAt);
      if (await this.store.commitContacts(account, known.version, listedAt, updates)) return;
    }
  }

  private async updates(
    account: string,
    known: KnownContacts,
    listed: readonly UpstreamContact[],
    listedAt: number,
  ): Promise<ContactUpdate[]> {
    const updates: ContactUpdate[] = [];
    for (const contact of new Map(listed.map((item) => [item.id, item])).values()) {
      const fingerprint = createHash('sha256').update(canonicalJson(contact.raw)).digest('hex').slice(0, 16);
      const before = known.contacts.get(contact.id);
      if (before === fingerprint) continue;
      const event = before === undefined ? created(contact, known) : await this.changed(account, contact);
      updates.push({
        id: contact.id,
        raw: JSON.stringify(contact.raw),
        fingerprint,
        numbers: phoneNumbersOf(contact),
        tellAfter: tellAfter(known, listedAt),
        ...(event === undefined ? {} : { event }),
      });
    }
    return updates;
  }

  private async changed(account: string, contact: UpstreamContact): Promise<NewEvent> {
    const record = await this.store.contactRecord(account, contact.id);
    return contactEvent(
      'contact.updated',
      contact,
      (record?.revision ?? 0) + 1,
      changesOf(record?.raw, contact),
    );
  }
}

function tellAfter({ listedAt }: KnownContacts, now: number): number {
  return listedAt === undefined ? now - FIRST_LIST_SLACK_MS : listedAt - LATER_CONTACT_SLACK_MS;
}

/** The contacts of the first list were there before; only later ones are news. */
function created(contact: UpstreamContact, { listedAt }: KnownContacts): NewEvent | undefined {
  return listedAt === undefined ? undefined : contactEvent('contact.created', contact, 1);
}

function contactEvent(
  type: 'contact.created' | 'contact.updated',
  contact: UpstreamContact,
  revision: number,
  changes?: Record<string, unknown>,
): NewEvent {
  return {
    type,
    contactId: contact.id,
    subject: `contact:${contact.id}`,
    revision,
    data: { contact: contact.raw, ...(changes === undefined ? {} : { changes }) },
  };
}

/** Which fields changed: `from` and `to`, each absent where the field was. */
function changesOf(before: string | undefined, { raw }: UpstreamContact): Record<string, unknown> {
  const parsed: unknown = before === undefined ? {} : JSON.parse(before);
  const old = isRecord(parsed) ? parsed : {};
  const fields = [...new Set([...Object.keys(old), ...Object.keys(raw)])];
  const changed = fields.filter((field) => canonicalJson(old[field]) !== canonicalJson(raw[field]));
  return Object.fromEntries(
    changed.map((field) => [
      field,
      { ...(field in old ? { from: old[field] } : {}), ...(field in raw ? { to: raw[field] } : {}) },
    ]),
  );
}
