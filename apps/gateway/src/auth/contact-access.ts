import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Principal } from '#accounts';
import type { EventFilter, LoggedEvent } from '#events';
import type { FeedStore } from '#feed';
import type { Send } from '#relay';
import { FEED } from '../tokens.js';

/** Reads which contacts own a phone number. */
export type NumberOwners = Pick<FeedStore, 'recipientOf'>;

/** Time for which the owners of a phone number are kept in memory, in milliseconds: many streams get the same event. */
const OWNERS_KEPT_MS = 1_000;
const MAX_NUMBERS = 10_000;

/**
 * Maximum number of events that one read examines for a caller with a token. Rate limits count requests, not the work
 * that each request causes, and a token may be in the hands of anyone who opens a page.
 */
export const MAX_EXAMINED_FOR_TOKENS = 1_000;

/** The fields of a send that decide who may see it. */
type SendOwner = Pick<Send, 'contactId' | 'phoneNumber'>;

/**
 * Decides what a caller with a restricted token may see. Callers without restriction may see everything of their
 * account. A send belongs to the contact of its message; before the message is found, to the contacts that own the
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

  /**
   * True if the caller may see an event. A caller with a restricted token may see the events of its contacts and of
   * their sends, but no events of the account as a whole.
   */
  async maySeeEvent(caller: Principal, event: LoggedEvent): Promise<boolean> {
    const { contactIds } = caller;
    if (contactIds === undefined) return true;
    if (!mayBeVisible(contactIds, event)) return false;
    if (!isAboutSend(event)) return true;
    const { send } = JSON.parse(event.data) as { send: SendOwner };
    return await this.maySeeSend(caller, send);
  }

  /** Returns a filter for the events that a caller asked for and may see. */
  eventsOf(caller: Principal, filter: EventFilter): EventFilter {
    if (caller.tokenId === undefined) return filter;
    return {
      ...filter,
      maxExamined: MAX_EXAMINED_FOR_TOKENS,
      ...(caller.contactIds === undefined ? {} : { accepts: (event) => this.maySeeEvent(caller, event) }),
    };
  }

  /**
   * Returns the entries of a timeline that the caller may see. The caller must be allowed to see the timeline's
   * contact.
   */
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

/**
 * False if the type or the contact of an event shows that the caller may not see the event. The result true is final
 * unless the event is about a send.
 */
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
