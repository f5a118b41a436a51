import type { Clock } from '#platform';
import { type AccountDirectory, DEFAULT_ACCOUNT_ID } from '../account/account.js';
import { AccountConflictError } from '../account/account-conflict-error.js';
import { ENVIRONMENT_API_KEY_ID, type Scope, API_KEY_SCOPES } from './api-key.js';
import {
  type ApiKey,
  type ApiKeyStore,
  type ApiKeyUses,
  idAndHashOfApiKey,
  generateApiKeyText,
  type ListedApiKey,
  type StoredApiKey,
} from './stored-api-key.js';

/** The fields that a caller chooses for a new API key. */
export interface NewApiKey {
  account: string;
  name: string;
  scopes: readonly Scope[];
  /** When the API key expires, in milliseconds since 1970. Absent for an API key that does not expire. */
  expiresAt?: number;
}

/** The API key that the environment variable `API_KEY` defines, as the API shows it. */
const ENVIRONMENT_API_KEY: ApiKey = {
  id: ENVIRONMENT_API_KEY_ID,
  account: DEFAULT_ACCOUNT_ID,
  name: 'API_KEY',
  scopes: [...API_KEY_SCOPES],
  createdAt: null,
  expiresAt: null,
};

/**
 * Creates, lists and revokes API keys. The API key that the environment variable `API_KEY` defines is listed, but
 * this class cannot revoke it.
 */
export class ApiKeyRegistry {
  constructor(
    private readonly fixed: Pick<AccountDirectory, 'find'>,
    private readonly store: ApiKeyStore & Pick<ApiKeyUses, 'lastUses'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Lists the API keys of one account, or of all accounts if `account` is left out, oldest first. If the account
   * `default` is included, the API key of the environment variable `API_KEY` comes first. Expired API keys are
   * included.
   */
  async list(account?: string): Promise<ListedApiKey[]> {
    const stored = await this.store.list(account);
    const own = account === undefined || account === DEFAULT_ACCOUNT_ID ? [ENVIRONMENT_API_KEY] : [];
    const byAge = stored.sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id));
    const keys = [...own, ...byAge.map(describe)];
    const lastUses = await this.store.lastUses(keys.map(({ id }) => id));
    return keys.map((key) => {
      const usedAt = lastUses.get(key.id);
      return { ...key, lastUsedAt: usedAt === undefined ? null : new Date(usedAt).toISOString() };
    });
  }

  async find(id: string): Promise<ApiKey | undefined> {
    if (id === ENVIRONMENT_API_KEY_ID) return ENVIRONMENT_API_KEY;
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : describe(stored);
  }

  /**
   * Creates an API key. The text of the key is returned only here and cannot be read later. Resolves to
   * undefined if the account is not found.
   * @throws {AccountConflictError} if the maximum number of API keys is reached and none of them has expired
   */
  async create(request: NewApiKey): Promise<{ apiKey: ApiKey; key: string } | undefined> {
    const { account, name, scopes, expiresAt } = request;
    const key = generateApiKeyText();
    const stored: StoredApiKey = {
      ...idAndHashOfApiKey(key),
      ...{ account, name, scopes: [...scopes] },
      createdAt: new Date(this.clock.now()).toISOString(),
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    };
    const isFixed = (await this.fixed.find(account)) !== undefined;
    return (await this.store.add(stored, isFixed)) ? { apiKey: describe(stored), key } : undefined;
  }

  /**
   * Revokes an API key. Resolves to false if the API key is not found.
   * @throws {AccountConflictError} if the API key is defined by the environment variable `API_KEY`
   */
  async remove(id: string): Promise<boolean> {
    if (id !== ENVIRONMENT_API_KEY_ID) return await this.store.remove(id);
    throw new AccountConflictError(
      'This API key comes from the environment variable API_KEY. To replace it, change API_KEY and restart the gateways.',
    );
  }
}

function describe({ id, account, name, scopes, createdAt, expiresAt }: StoredApiKey): ApiKey {
  return { id, account, name, scopes, createdAt, expiresAt };
}
