import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Principal } from '#accounts';
import type { EventFilter, EventPage, LoggedEvent } from '#events';
import type { FeedStore } from '#feed';
import type { Send } from '#relay';
import { FEED } from '../tokens.js';

/** Reads which contacts own a phone number. */
export type NumberOwners = Pick<FeedStore, 'recipientOf'>;

/** Time for which the owners of a phone number are kept in memory, in milliseconds: many streams get the same event. */
const OWNERS_KEPT_MS = 1_000;
const MAX_NUMBERS = 10_000;

/** The fields of a send that decide who may see it. */
type SendOwner = Pick<Send, 'contactId' | 'phoneNumber'>;

/** The events that a caller asked for and may see. */
export interface EventSelection {
  filter: EventFilter;
  /** Leaves out events that the caller may not see. The filter cannot decide this for the events of sends. */
  visible: (page: EventPage) => Promise<EventPage>;
}

/**
 * Decides what a caller may see whose token is restricted to contacts. Callers without restriction may see everything of
 * their account. A send belongs to the contact of its message; before the message is found, to the contacts that own the
 * phone number of the recipient.
 */
@Injectable()
export class ContactAccess {
  private readonly owners = new LRUCache<string, Promise<readonly string[]>>({
    max: MAX_NUMBERS,
    ttl: OWNERS_KEPT_MS,
  });

  constructor(@Inject(FEED) private readonly feed: NumberOwners) {}

  maySeeContact({ contactIds }: Principal, contactId: string): boolean {
    return contactIds === undefined || contactIds.has(contactId);
  }

  /** True if the caller may send to a phone number: one of the token's contacts owns it. */
  async maySeeNumber({ account, contactIds }: Principal, phoneNumber: string): Promise<boolean> {
    if (contactIds === undefined) return true;
    const owners = await this.ownersOf(account, phoneNumber);
    return owners.some((id) => contactIds.has(id));
  }

  async maySeeSend(caller: Principal, { contactId, phoneNumber }: SendOwner): Promise<boolean> {
    return contactId === null
      ? await this.maySeeNumber(caller, phoneNumber)
      : this.maySeeContact(caller, contactId);
  }

  /** True if the caller may see an event: of its contacts and of their sends, but none of the account. */
  async maySeeEvent(caller: Principal, event: LoggedEvent): Promise<boolean> {
    const { contactIds } = caller;
    if (contactIds === undefined) return true;
    if (!mayBeVisible(contactIds, event)) return false;
    if (!isAboutSend(event)) return true;
    const { send } = JSON.parse(event.data) as { send: SendOwner };
    return await this.maySeeSend(caller, send);
  }

  /** Returns the selection of the events that a caller asked for and may see. */
  eventsOf(caller: Principal, filter: EventFilter): EventSelection {
    const { contactIds } = caller;
    if (contactIds === undefined) return { filter, visible: (page) => Promise.resolve(page) };
    return {
      filter: { ...filter, accepts: (event) => mayBeVisible(contactIds, event) },
      visible: async (page) => ({
        ...page,
        events: await this.only(page.events, (event) => this.maySeeEvent(caller, event)),
      }),
    };
  }

  /** Returns the sends that a caller may see. */
  sendsOf(caller: Principal, sends: readonly Send[]): Promise<Send[]> {
    return this.only(sends, (send) => this.maySeeSend(caller, send));
  }

  /** Returns the entries of a timeline that a caller may see, who may see its contact. */
  entriesOf<T extends { kind: 'message' } | { kind: 'send'; send: SendOwner }>(
    caller: Principal,
    entries: readonly T[],
  ): Promise<T[]> {
    return this.only(entries, (entry) =>
      entry.kind === 'send' ? this.maySeeSend(caller, entry.send) : Promise.resolve(true),
    );
  }

  private async only<T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<T[]> {
    const held = await Promise.all(items.map(holds));
    return items.filter((_, i) => held[i] === true);
  }

  private ownersOf(account: string, phoneNumber: string): Promise<readonly string[]> {
    const name = `${account}\n${phoneNumber}`;
    const known = this.owners.get(name);
    if (known !== undefined) return known;
    const owners = this.feed
      .recipientOf(account, phoneNumber)
      .then(({ contacts }) => contacts.map(({ id }) => id));
    this.owners.set(name, owners);
    owners.catch(() => this.owners.delete(name));
    return owners;
  }
}

/** True if the caller may see an event, as far as type and contact decide it. */
function mayBeVisible(
  contactIds: ReadonlySet<string>,
  event: Pick<LoggedEvent, 'type' | 'contactId'>,
): boolean {
  if (isAboutSend(event)) return true;
  return /^(message|contact)\./.test(event.type) && contactIds.has(event.contactId ?? '');
}

function isAboutSend({ type }: Pick<LoggedEvent, 'type'>): boolean {
  return type.startsWith('send.');
}
