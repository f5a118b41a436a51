import type { TimeLimit } from '#platform';
import type { Sender } from '#relay';
import type { AccountUpstream, Admission, UpstreamSend } from '#upstream';

/** Sends the relay's requests through the request budget of the account. */
export class AccountSender implements Sender {
  constructor(private readonly upstream: AccountUpstream) {}

  addressOf(account: string): Promise<string | undefined> {
    return this.upstream.addressOf(account);
  }

  admit(account: string): Promise<Admission> {
    return this.upstream.admit(account, 'send');
  }

  isHeld(account: string): Promise<boolean> {
    return this.upstream.isHeld(account);
  }

  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    admission: Admission,
    address: string | undefined,
  ): Promise<void> {
    return this.upstream.post(account, send, limit, admission, address);
  }
}
