import type { ApiKeyAuthenticator, Principal } from './api-key.js';
import {
  type ApiKeyStore,
  idAndHashOfApiKey,
  areHashesEqual,
  hasGeneratedApiKeyFormat,
} from './stored-api-key.js';

/**
 * Authenticates callers by the API key of the environment variable `API_KEY` and by the stored API keys.
 * Nothing is cached between requests: as soon as an API key expires or is revoked, or its account is removed,
 * every gateway rejects the API key. The API key of `API_KEY` is accepted even while the store is unavailable.
 */
export class StoredApiKeyAuthenticator implements ApiKeyAuthenticator {
  constructor(
    private readonly fixed: ApiKeyAuthenticator,
    private readonly store: Pick<ApiKeyStore, 'findWithTime'>,
  ) {}

  async authenticate(text: string): Promise<Principal | undefined> {
    const fixed = await this.fixed.authenticate(text);
    if (fixed !== undefined || !hasGeneratedApiKeyFormat(text)) return fixed;
    const { id, sha256 } = idAndHashOfApiKey(text);
    const found = await this.store.findWithTime(id);
    if (found === undefined || !areHashesEqual(found.key.sha256, sha256)) return undefined;
    const { account, scopes, expiresAt } = found.key;
    if (expiresAt !== null && Date.parse(expiresAt) <= found.now) return undefined;
    return {
      ...{ keyId: id, account, scopes: new Set(scopes) },
      ...(expiresAt === null ? {} : { expiresAt: Date.parse(expiresAt) }),
    };
  }
}
