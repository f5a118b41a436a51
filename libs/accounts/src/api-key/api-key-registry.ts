import type { Clock } from '#platform';
import { type AccountDirectory, DEFAULT_ACCOUNT } from '../account/account.js';
import { AccountConflictError } from '../account/account-conflict.js';
import { ENVIRONMENT_KEY, type Scope, SCOPES } from './api-key.js';
import {
  type ApiKey,
  type ApiKeyStore,
  identify,
  newApiKeyText,
  type StoredApiKey,
} from './stored-api-key.js';

/** What a key is asked for with. */
export interface NewApiKey {
  account: string;
  name: string;
  scopes: readonly Scope[];
  /** Ms since 1970; left out for a key that does not expire. */
  expiresAt?: number;
}

/** The key that the variable API_KEY holds, as it is shown. */
const OF_ENVIRONMENT: ApiKey = {
  id: ENVIRONMENT_KEY,
  account: DEFAULT_ACCOUNT,
  name: 'API_KEY',
  scopes: [...SCOPES],
  createdAt: null,
  expiresAt: null,
};

/** For those who manage the API keys. The environment's is shown and cannot be changed here. */
export class ApiKeyRegistry {
  constructor(
    private readonly fixed: Pick<AccountDirectory, 'find'>,
    private readonly store: ApiKeyStore,
    private readonly clock: Clock,
  ) {}

  /** Of one account or of all, by age; the environment's first. Expired ones are among them. */
  async list(account?: string): Promise<ApiKey[]> {
    const stored = await this.store.list(account);
    const own = account === undefined || account === DEFAULT_ACCOUNT ? [OF_ENVIRONMENT] : [];
    const byAge = stored.sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id));
    return [...own, ...byAge.map(describe)];
  }

  async find(id: string): Promise<ApiKey | undefined> {
    if (id === ENVIRONMENT_KEY) return OF_ENVIRONMENT;
    const stored = await this.store.find(id);
    return stored === undefined ? undefined : describe(stored);
  }

  /**
   * Makes a key. It is told here and nowhere else; undefined where there is no such account.
   * @throws {AccountConflictError} for one key too many
   */
  async create(request: NewApiKey): Promise<{ apiKey: ApiKey; key: string } | undefined> {
    const { account, name, scopes, expiresAt } = request;
    const key = newApiKeyText();
    const stored: StoredApiKey = {
      ...identify(key),
      ...{ account, name, scopes: [...scopes] },
      createdAt: new Date(this.clock.now()).toISOString(),
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    };
    const isFixed = (await this.fixed.find(account)) !== undefined;
    return (await this.store.add(stored, isFixed)) ? { apiKey: describe(stored), key } : undefined;
  }

  /**
   * Revokes a key. Answers whether there was one.
   * @throws {AccountConflictError} for the environment's
   */
  async remove(id: string): Promise<boolean> {
    if (id !== ENVIRONMENT_KEY) return await this.store.remove(id);
    throw new AccountConflictError(
      'This API key comes from the environment variable API_KEY. To replace it, change API_KEY and restart the gateways.',
    );
  }
}

function describe({ id, account, name, scopes, createdAt, expiresAt }: StoredApiKey): ApiKey {
  return { id, account, name, scopes, createdAt, expiresAt };
}
