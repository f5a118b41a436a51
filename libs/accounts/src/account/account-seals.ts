import { accountContext, type AccountStore, type StoredAccount } from './account-store.js';
import { SealTally } from '../secret/seal-tally.js';
import type { SecretBox } from '../secret/secret-box.js';

/** Re-encrypts the secrets of stored accounts. */
export class AccountSeals {
  constructor(
    private readonly store: Pick<AccountStore, 'list' | 'change'>,
    private readonly box: SecretBox,
  ) {}

  /**
   * Encrypts every account's upstream key with the current encryption key, one account after another. Each step works
   * on the account's current state. So the work may stop at any point, and accounts may change meanwhile.
   */
  async reseal(): Promise<SealTally> {
    const all = new SealTally();
    for (const read of await this.store.list()) {
      let tally = new SealTally();
      const after = this.resealed(read, tally);
      if (after.sealedApiKey !== read.sealedApiKey) {
        const stored = await this.store.change(read.id, (before) => {
          tally = new SealTally();
          return this.resealed(before, tally);
        });
        // The account was removed meanwhile.
        if (stored === undefined) continue;
      }
      all.add(tally);
    }
    return all;
  }

  private resealed(account: StoredAccount, tally: SealTally): StoredAccount {
    const { id, sealedApiKey } = account;
    const context = accountContext(id);
    return { ...account, sealedApiKey: tally.reseal(this.box, sealedApiKey, context, `account ${id}`) };
  }
}
