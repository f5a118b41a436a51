import { accountEncryptionContext, type AccountStore, type StoredAccount } from './account-store.js';
import { ReencryptionCounts } from '../secret/reencryption-counts.js';
import type { SecretCipher } from '../secret/secret-cipher.js';

/** Re-encrypts the upstream API keys of all stored accounts with the current encryption key. */
export class UpstreamApiKeyReencrypter {
  constructor(
    private readonly store: Pick<AccountStore, 'list' | 'change'>,
    private readonly cipher: SecretCipher,
  ) {}

  /**
   * Encrypts the upstream API key of each account with the current encryption key, one account after another. A key
   * that cannot be decrypted stays as it is, and is listed in `failures` of the result. The method can be interrupted
   * at any point and called again, and accounts may be changed while it runs.
   */
  async reencryptAll(): Promise<ReencryptionCounts> {
    const all = new ReencryptionCounts();
    for (const read of await this.store.list()) {
      let counts = new ReencryptionCounts();
      const after = this.reencrypted(read, counts);
      if (after.sealedApiKey !== read.sealedApiKey) {
        const stored = await this.store.change(read.id, (before) => {
          counts = new ReencryptionCounts();
          return this.reencrypted(before, counts);
        });
        // The account was removed after it was listed.
        if (stored === undefined) continue;
      }
      all.add(counts);
    }
    return all;
  }

  private reencrypted(account: StoredAccount, counts: ReencryptionCounts): StoredAccount {
    const { id, sealedApiKey } = account;
    const context = accountEncryptionContext(id);
    return {
      ...account,
      sealedApiKey: counts.reencrypt(this.cipher, sealedApiKey, context, `account ${id}`),
    };
  }
}
