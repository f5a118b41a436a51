import type { ClaimedRead, FeedSource, ReadPurpose } from '#feed';
import type {
  BudgetedUpstream,
  ContactList,
  ContactReader,
  MessagePage,
  RequestPurpose,
  PollTokenSource,
} from '#upstream';

/** Reads contacts and messages through the request budget of the account. */
export class AccountFeedSource implements FeedSource {
  constructor(private readonly upstream: BudgetedUpstream) {}

  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    return this.upstream.listContacts(account, budgetClassOf(purpose), newReader);
  }

  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
    knownDigest?: string,
  ): Promise<MessagePage> {
    const kind = budgetClassOf(purpose);
    return this.upstream.listMessages(account, contactId, page, limit, kind, knownDigest);
  }
}

/**
 * Returns the budget class of a read. A look-up for a send belongs to the sends. A poll without a claimed
 * token, such as the contact list, is rare and uses the class that is never starved.
 */
function budgetClassOf(purpose: ReadPurpose): RequestPurpose {
  if (purpose === 'lookup') return 'send';
  if (purpose === 'confirmation') return 'read';
  return purpose === 'poll' ? { kind: 'more' } : claimedTurn(purpose);
}

function claimedTurn(read: ClaimedRead): PollTokenSource {
  const { tokenRequestedAt } = read;
  delete read.tokenRequestedAt;
  return {
    kind: read.kind === 'deep' ? 'deep' : 'more',
    signal: read.signal,
    ...(tokenRequestedAt === undefined
      ? {}
      : { tokenRequestedAt, isUpstreamAvailable: read.isUpstreamAvailable }),
  };
}
