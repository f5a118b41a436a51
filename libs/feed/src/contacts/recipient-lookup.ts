import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import type { ContactListPoll } from './contact-list-poll.js';
import type { ContactPoll } from '../poll/contact-poll.js';
import type { FeedStore, Recipient } from '../feed-store.js';
import { NextRun } from './next-run.js';

/** How soon the contact of a send that upstream just took is read. */
const EXPECT_MS = 250;

/** Reads the messages of a recipient when a send asks for it. */
export class RecipientLookup {
  /** Of the contact list, by account. */
  private readonly lists: NextRun;

  constructor(
    private readonly store: FeedStore,
    contacts: ContactListPoll,
    private readonly messages: ContactPoll,
  ) {
    this.lists = new NextRun((account) => contacts.poll(account, 'lookup'));
  }

  /**
   * Reads the recipient's messages now; they are bound to sends on the way. Whether the look was complete: all contacts
   * that hold the number were read, or are gone, and so says the contact list.
   * @param options `listSince`: since when the contact list should have been read, by Redis' clock, absent where an older
   * one will do; `yields`: whether new sends go first
   * @throws {UpstreamError} if upstream could not be read; whatever else could be was
   */
  async lookUp(
    account: string,
    phoneNumber: string,
    { listSince, yields = false }: { listSince?: number; yields?: boolean } = {},
  ): Promise<boolean> {
    const purpose = yields ? 'confirmation' : 'lookup';
    let recipient = await this.withList(account, phoneNumber, listSince);
    let isComplete = true;
    let failure: UpstreamError | undefined;
    const looked = new Set<string>();
    for (;;) {
      const contact = recipient.contacts.find(({ id }) => !looked.has(id));
      if (contact === undefined) break;
      looked.add(contact.id);
      try {
        if (!(await this.messages.pollNews(account, contact.id, purpose))) isComplete = false;
      } catch (error) {
        if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
        if (isNotFound(error)) {
          if (!contact.isMissing) recipient = await this.refreshed(account, phoneNumber);
          if (isGone(recipient, contact.id)) continue;
        }
        // The others are looked at all the same: what is looked for may stand there.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return isComplete;
  }

  /**
   * Reads the contact list, once for all who ask meanwhile.
   * @throws {UpstreamError} if it could not be read
   */
  readList(account: string): Promise<void> {
    return this.lists.run(account);
  }

  /** Sees to it that a message to this recipient is noticed soon. */
  async expect(account: string, phoneNumber: string): Promise<void> {
    const { contacts } = await this.store.recipientOf(account, phoneNumber);
    const [likeliest] = contacts;
    // A recipient without a contact will have one: the list shows it, and a new contact is read at once.
    if (likeliest === undefined) await this.store.wishForList(account);
    else await this.store.hasten(account, likeliest.id, EXPECT_MS);
  }

  /** The recipient by a list that is new enough, if one can be read; without any contact, by one that is read now. */
  private async withList(
    account: string,
    phoneNumber: string,
    since: number | undefined,
  ): Promise<Recipient> {
    const recipient = await this.store.recipientOf(account, phoneNumber);
    if (recipient.contacts.length === 0) return this.refreshed(account, phoneNumber);
    if (since === undefined || (recipient.listReadAt ?? -Infinity) >= since) return recipient;
    try {
      return await this.refreshed(account, phoneNumber);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // A list that fails for good must not keep what its contacts' messages show from being believed.
      return recipient;
    }
  }

  private async refreshed(account: string, phoneNumber: string): Promise<Recipient> {
    await this.lists.run(account);
    return this.store.recipientOf(account, phoneNumber);
  }
}

function isNotFound(error: UpstreamError): boolean {
  return error instanceof UpstreamStatusError && (error.status === 404 || error.status === 410);
}

/** Whether the list says too that there is no such contact, and is to be believed. */
function isGone({ contacts, isListDoubted }: Recipient, id: string): boolean {
  if (isListDoubted) return false;
  return contacts.find((contact) => contact.id === id)?.isMissing ?? true;
}
