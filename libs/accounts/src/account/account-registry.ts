import type { Clock } from '#platform';
import type { Account, AccountDirectory } from './account.js';
import { AccountConflictError } from './account-conflict-error.js';
import { UpstreamApiKeyRequiredError } from './upstream-api-key-required-error.js';
import { accountEncryptionContext, type AccountStore, type StoredAccount } from './account-store.js';
import type { SecretCipher } from '../secret/secret-cipher.js';

/** An account as the API shows it: all fields except upstream's API key. */
export interface AccountDescription {
  id: string;
  baseUrl: string;
  requestsPerSecond: number;
  polling: boolean;
  /** How the account was defined: by environment variables, or through the API. */
  source: 'environment' | 'api';
  /**
   * When the account was created, as an ISO 8601 time. Null for the account that the environment variables
   * define.
   */
  createdAt: string | null;
  /**
   * When the account was last changed, as an ISO 8601 time. Null for the account that the environment
   * variables define.
   */
  updatedAt: string | null;
}

/** The fields of an account to change, with their new values. The id of an account cannot change. */
export type AccountChanges = Partial<Omit<Account, 'id'>>;

/**
 * Creates, lists, changes and removes accounts. The account that the environment variables define is listed, but this
 * class cannot change or remove it.
 */
export class AccountRegistry {
  constructor(
    private readonly fixed: AccountDirectory,
    private readonly store: AccountStore,
    private readonly cipher: SecretCipher,
    private readonly clock: Clock,
  ) {}

  /**
   * Lists all accounts: first the account that the environment variables define, then the others, oldest
   * first.
   */
  async list(): Promise<AccountDescription[]> {
    const stored = await this.store.list();
    return [
      ...(await this.fixed.list()).map(describeFixed),
      ...stored
        .map(describeStored)
        .sort((a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? '') || a.id.localeCompare(b.id)),
    ];
  }

  async find(id: string): Promise<AccountDescription | undefined> {
    const fixed = await this.fixed.find(id);
    if (fixed !== undefined) return describeFixed(fixed);
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : describeStored(stored);
  }

  /**
   * Creates an account.
   * @throws {AccountConflictError} if the id is in use, if the data of a removed account with this id is not erased
   * yet, or if the maximum number of accounts is reached
   */
  async create({ apiKey, ...account }: Account): Promise<AccountDescription> {
    if ((await this.fixed.find(account.id)) !== undefined) throw fixedConflict(account.id);
    const now = this.now();
    const stored: StoredAccount = {
      ...account,
      sealedApiKey: this.cipher.encrypt(apiKey, accountEncryptionContext(account.id)),
      createdAt: now,
      updatedAt: now,
    };
    await this.store.add(stored);
    return describeStored(stored);
  }

  /**
   * Changes fields of an account. Resolves to the changed account, or to undefined if the account is not found.
   * @throws {AccountConflictError} if the account is defined by environment variables
   * @throws {UpstreamApiKeyRequiredError} if the scheme, host or port of the base URL changes and `apiKey`, the new
   * upstream API key, is absent
   */
  async change(id: string, { apiKey, ...changes }: AccountChanges): Promise<AccountDescription | undefined> {
    if ((await this.fixed.find(id)) !== undefined) throw fixedConflict(id);
    const sealed =
      apiKey === undefined ? {} : { sealedApiKey: this.cipher.encrypt(apiKey, accountEncryptionContext(id)) };
    const changed = await this.store.change(id, (before) => {
      const after = { ...before, ...changes, ...sealed, updatedAt: this.now() };
      if (apiKey === undefined && originOf(after) !== originOf(before))
        throw new UpstreamApiKeyRequiredError();
      return after;
    });
    return changed === undefined ? undefined : describeStored(changed);
  }

  /**
   * Removes an account and its API keys. Resolves to false if the account is not found.
   * @throws {AccountConflictError} if the account is defined by environment variables
   */
  async remove(id: string): Promise<boolean> {
    if ((await this.fixed.find(id)) !== undefined) throw fixedConflict(id);
    return await this.store.remove(id);
  }

  private now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

function originOf({ baseUrl }: Pick<StoredAccount, 'baseUrl'>): string {
  return new URL(baseUrl).origin;
}

function fixedConflict(id: string): AccountConflictError {
  return new AccountConflictError(
    `The account ${id} is configured by environment variables. To change it, set UPSTREAM_BASE_URL, ` +
      'UPSTREAM_API_KEY and UPSTREAM_REQUESTS_PER_SECOND, and restart the gateways and workers.',
  );
}

function describeFixed({ id, baseUrl, requestsPerSecond, polling }: Account): AccountDescription {
  const source = 'environment';
  return { id, baseUrl, requestsPerSecond, polling, source, createdAt: null, updatedAt: null };
}

function describeStored(stored: StoredAccount): AccountDescription {
  const { id, baseUrl, requestsPerSecond, polling, createdAt, updatedAt } = stored;
  return { id, baseUrl, requestsPerSecond, polling, source: 'api', createdAt, updatedAt };
}
