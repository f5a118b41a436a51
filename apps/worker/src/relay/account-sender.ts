import type { TimeLimit } from '#platform';
import type { Sender, SendingAccount } from '#relay';
import {
  type BudgetedUpstream,
  type BudgetTokenRenewal,
  type FindUpstreamAccount,
  hashUpstreamAddress,
  type PostToken,
  type UpstreamHealth,
  type UpstreamSend,
} from '#upstream';

/** Sends the relay's requests through the request budget of the account. */
export class AccountSender implements Sender {
  constructor(
    private readonly upstream: BudgetedUpstream,
    private readonly find: FindUpstreamAccount,
    private readonly health: Pick<UpstreamHealth, 'outage'>,
  ) {}

  async accountOf(account: string): Promise<SendingAccount> {
    const { baseUrl, requestsPerSecond } = await this.find(account);
    return { address: hashUpstreamAddress(baseUrl), requestsPerSecond };
  }

  takeBudgetToken(account: string): Promise<BudgetTokenRenewal> {
    return this.upstream.takeBudgetToken(account, 'send');
  }

  async isHeld(account: string): Promise<boolean> {
    return (await this.health.outage(account)) !== undefined;
  }

  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    token: PostToken,
    address: string | undefined,
  ): Promise<void> {
    return this.upstream.post(account, send, limit, token, address);
  }
}
