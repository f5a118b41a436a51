import type { Clock } from '#platform';
import { type AccountDirectory, DEFAULT_ACCOUNT } from '../account/account.js';
import { AccountConflictError } from '../account/account-conflict.js';
import { ENVIRONMENT_KEY_ID, type Scope, SCOPES } from './api-key.js';
import {
  type ApiKey,
  type ApiKeyStore,
  identifyApiKey,
  newApiKeyText,
  type StoredApiKey,
} from './stored-api-key.js';

/** Fields of a new API key. */
export interface NewApiKey {
  account: string;
  name: string;
  scopes: readonly Scope[];
  /** Milliseconds since 1970. Absent for a key that does not expire. */
  expiresAt?: number;
}

/** The API key of the variable API_KEY, as the API shows it. */
const ENVIRONMENT_API_KEY: ApiKey = {
  id: ENVIRONMENT_KEY_ID,
  account: DEFAULT_ACCOUNT,
  name: 'API_KEY',
  scopes: [...SCOPES],
  createdAt: null,
  expiresAt: null,
};

/** Manages the API keys. The environment's key is shown but cannot be changed here. */
export class ApiKeyRegistry {
  constructor(
    private readonly fixed: Pick<AccountDirectory, 'find'>,
    private readonly store: ApiKeyStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Lists the keys of one account, or of all accounts, by age; the environment's key comes first. Includes expired
   * keys.
   */
  async list(account?: string): Promise<ApiKey[]> {
    const stored = await this.store.list(account);
    const own = account === undefined || account === DEFAULT_ACCOUNT ? [ENVIRONMENT_API_KEY] : [];
    const byAge = stored.sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id));
    return [...own, ...byAge.map(describe)];
  }

  async find(id: string): Promise<ApiKey | undefined> {
    if (id === ENVIRONMENT_KEY_ID) return ENVIRONMENT_API_KEY;
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : describe(stored);
  }

  /**
   * Creates an API key. Only this result shows the key's text. Resolves to undefined if the account is not found.
   * @throws {AccountConflictError} if the max number of keys is reached
   */
  async create(request: NewApiKey): Promise<{ apiKey: ApiKey; key: string } | undefined> {
    const { account, name, scopes, expiresAt } = request;
    const key = newApiKeyText();
    const stored: StoredApiKey = {
      ...identifyApiKey(key),
      ...{ account, name, scopes: [...scopes] },
      createdAt: new Date(this.clock.now()).toISOString(),
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    };
    const isFixed = (await this.fixed.find(account)) !== undefined;
    return (await this.store.add(stored, isFixed)) ? { apiKey: describe(stored), key } : undefined;
  }

  /**
   * Revokes an API key. Resolves to false if the key is not found.
   * @throws {AccountConflictError} if the key is the environment's
   */
  async remove(id: string): Promise<boolean> {
    if (id !== ENVIRONMENT_KEY_ID) return await this.store.remove(id);
    throw new AccountConflictError(
      'This API key comes from the environment variable API_KEY. To replace it, change API_KEY and restart the gateways.',
    );
  }
}

function describe({ id, account, name, scopes, createdAt, expiresAt }: StoredApiKey): ApiKey {
  return { id, account, name, scopes, createdAt, expiresAt };
}
