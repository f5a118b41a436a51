import type { ClaimedRead, FeedSource, ReadPurpose } from '#feed';
import type {
  AccountUpstream,
  ContactList,
  ContactReader,
  MessagePage,
  RequestFor,
  RequestTurn,
} from '#upstream';

/** The feed's reads, through the account's budget. */
export class AccountFeedSource implements FeedSource {
  constructor(private readonly upstream: AccountUpstream) {}

  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    return this.upstream.listContacts(account, payerOf(purpose), newReader);
  }

  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
  ): Promise<MessagePage> {
    return this.upstream.listMessages(account, contactId, page, limit, payerOf(purpose));
  }
}

/** A look-up for a send goes with the sends. What is not claimed, such as the contact list, is rare and must not starve. */
function payerOf(purpose: ReadPurpose): RequestFor {
  if (purpose === 'lookup') return 'send';
  if (purpose === 'confirmation') return 'read';
  return purpose === 'poll' ? { kind: 'more' } : turnOf(purpose);
}

function turnOf(read: ClaimedRead): RequestTurn {
  const { token } = read;
  delete read.token;
  return {
    kind: read.kind === 'deep' ? 'deep' : 'more',
    signal: read.signal,
    ...(token === undefined ? {} : { token }),
  };
}
