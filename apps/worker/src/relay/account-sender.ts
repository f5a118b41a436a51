import type { TimeLimit } from '#platform';
import type { Sender } from '#relay';
import type { BudgetedUpstream, TokenExpiryCheck, UpstreamSend } from '#upstream';

/** Sends the relay's requests through the request budget of the account. */
export class AccountSender implements Sender {
  constructor(private readonly upstream: BudgetedUpstream) {}

  addressOf(account: string): Promise<string | undefined> {
    return this.upstream.addressOf(account);
  }

  admit(account: string): Promise<TokenExpiryCheck> {
    return this.upstream.admit(account, 'send');
  }

  isHeld(account: string): Promise<boolean> {
    return this.upstream.isHeld(account);
  }

  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    admission: TokenExpiryCheck,
    address: string | undefined,
  ): Promise<void> {
    return this.upstream.post(account, send, limit, admission, address);
  }
}
