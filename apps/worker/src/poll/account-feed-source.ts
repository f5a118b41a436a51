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
    return this.upstream.listContacts(account, requestPurposeOf(purpose), newReader);
  }

  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
    knownDigest?: string,
  ): Promise<MessagePage> {
    const wanted = requestPurposeOf(purpose);
    return this.upstream.listMessages(account, contactId, page, limit, wanted, knownDigest);
  }
}

/**
 * Returns the purpose under which a read takes its token of the budget. A poll without a claim, such as that of the
 * contact list, is rare. It uses the class `more`, because `more` comes before the first requests of other polls.
 */
function requestPurposeOf(purpose: ReadPurpose): RequestPurpose {
  if (purpose === 'lookup' || purpose === 'confirmation') return purpose;
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
