import type { TimeLimit } from '#platform';
import type { Sender, SendingAccount } from '#relay';
import {
  type BudgetedUpstream,
  type BudgetTokenCheck,
  type FindUpstreamAccount,
  hashOfUpstreamAddress,
  type UpstreamHealth,
  type UpstreamSend,
} from '#upstream';

/** Sends the relay's requests through the request budget of the account. */
export class AccountSender implements Sender {
  /** @param countToken called for each token that was taken together with the mark of a send */
  constructor(
    private readonly upstream: BudgetedUpstream,
    private readonly find: FindUpstreamAccount,
    private readonly health: Pick<UpstreamHealth, 'outage'>,
    private readonly countToken: () => void,
  ) {}

  async accountOf(account: string): Promise<SendingAccount> {
    const { baseUrl, requestsPerSecond } = await this.find(account);
    return { address: hashOfUpstreamAddress(baseUrl), requestsPerSecond };
  }

  takeBudgetToken(account: string): Promise<BudgetTokenCheck> {
    return this.upstream.takeBudgetToken(account, 'send');
  }

  budgetTokenCheckOf(account: string, requestedAt: number): BudgetTokenCheck {
    this.countToken();
    return this.upstream.budgetTokenCheckOf(account, requestedAt, 'send');
  }

  async isHeld(account: string): Promise<boolean> {
    return (await this.health.outage(account)) !== undefined;
  }

  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    tokenCheck: BudgetTokenCheck,
    address: string | undefined,
  ): Promise<void> {
    return this.upstream.post(account, send, limit, tokenCheck, address);
  }
}
