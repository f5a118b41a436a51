import type { Account, AccountDirectory, AccountRevision } from './account.js';
import { accountEncryptionContext, type AccountStore, type StoredAccount } from './account-store.js';
import type { SecretCipher } from '../secret/secret-cipher.js';

/**
 * Directory of all accounts: the one that the environment variables define, and those stored in Redis. Nothing is
 * cached between calls, so every process sees each change at once. The account of the environment variables is found
 * even while Redis is unavailable.
 */
export class CombinedAccountDirectory implements AccountDirectory, AccountRevision {
  /** Ids of the accounts that were reported to `unreadable` and have not become readable since. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly fixed: AccountDirectory,
    private readonly store: Pick<AccountStore, 'list' | 'find' | 'revision'>,
    private readonly cipher: SecretCipher,
    /**
     * Called by `list` for each stored account whose upstream API key cannot be decrypted. The result of `list` does
     * not contain such an account. Accounts are read several times a second, so this is called once, and again only
     * if the account was readable meanwhile.
     */
    private readonly unreadable: (id: string, error: unknown) => void,
  ) {}

  async list(): Promise<Account[]> {
    const stored = await this.store.list();
    return [...(await this.fixed.list()), ...stored.flatMap((account) => this.openOrReport(account))];
  }

  /**
   * Returns a text that changes whenever a stored account changes; see `AccountStore.revision`. The account of the
   * environment variables never changes.
   */
  revision(): Promise<string> {
    return this.store.revision();
  }

  /**
   * Resolves to the account with this id, or to undefined if the account is not found.
   * @throws {SecretDecryptionError} if the account's upstream API key cannot be decrypted
   */
  async find(id: string): Promise<Account | undefined> {
    const fixed = await this.fixed.find(id);
    if (fixed !== undefined) return fixed;
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : this.open(stored);
  }

  private openOrReport(stored: StoredAccount): Account[] {
    try {
      const account = this.open(stored);
      this.reported.delete(stored.id);
      return [account];
    } catch (error) {
      if (!this.reported.has(stored.id)) this.unreadable(stored.id, error);
      this.reported.add(stored.id);
      return [];
    }
  }

  private open({ id, baseUrl, sealedApiKey, requestsPerSecond, polling, createdAt }: StoredAccount): Account {
    const apiKey = this.cipher.decrypt(sealedApiKey, accountEncryptionContext(id));
    return { id, baseUrl, apiKey, requestsPerSecond, polling, addedAt: Date.parse(createdAt) };
  }
}
