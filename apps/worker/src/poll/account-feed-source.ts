import type { FeedSource, ReadPurpose } from '#feed';
import type { AccountUpstream, ContactList, ContactReader, MessagePage, RequestClass } from '#upstream';

/** A look-up for a send goes with the sends. */
const CLASS: Readonly<Record<ReadPurpose, RequestClass>> = { poll: 'poll', lookup: 'send' };

/** The feed's reads, through the account's budget. */
export class AccountFeedSource implements FeedSource {
  constructor(private readonly upstream: AccountUpstream) {}

  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    return this.upstream.listContacts(account, CLASS[purpose], newReader);
  }

  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
  ): Promise<MessagePage> {
    return this.upstream.listMessages(account, contactId, page, limit, CLASS[purpose]);
  }
}
