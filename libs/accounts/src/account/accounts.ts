import type { Account, AccountDirectory, AccountStamp } from './account.js';
import { accountContext, type AccountStore, type StoredAccount } from './account-store.js';
import type { SecretBox } from '../secret/secret-box.js';

/**
 * The accounts of the environment and the stored ones. Nothing is kept from one call to the next: an account that is
 * added, changed or removed is so for the next caller, in every process. The environment's need no store to be found.
 */
export class Accounts implements AccountDirectory, AccountStamp {
  constructor(
    private readonly fixed: AccountDirectory,
    private readonly store: Pick<AccountStore, 'list' | 'find' | 'stamp'>,
    private readonly box: SecretBox,
    /** Is told of a stored account whose key cannot be opened. It is left out of the list: the others go on. */
    private readonly unreadable: (id: string, error: unknown) => void,
  ) {}

  async list(): Promise<Account[]> {
    const stored = await this.store.list();
    return [...(await this.fixed.list()), ...stored.flatMap((account) => this.openOrTell(account))];
  }

  /** The environment's never change. */
  stamp(): Promise<string> {
    return this.store.stamp();
  }

  /** @throws {SealBrokenError} for an account whose key cannot be opened */
  async find(id: string): Promise<Account | undefined> {
    const fixed = await this.fixed.find(id);
    if (fixed !== undefined) return fixed;
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : this.open(stored);
  }

  private openOrTell(stored: StoredAccount): Account[] {
    try {
      return [this.open(stored)];
    } catch (error) {
      this.unreadable(stored.id, error);
      return [];
    }
  }

  private open({ id, baseUrl, sealedApiKey, requestsPerSecond, polling, createdAt }: StoredAccount): Account {
    const apiKey = this.box.open(sealedApiKey, accountContext(id));
    return { id, baseUrl, apiKey, requestsPerSecond, polling, addedAt: Date.parse(createdAt) };
  }
}
