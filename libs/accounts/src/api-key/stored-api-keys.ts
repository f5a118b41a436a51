import type { ApiKeys, Principal } from './api-key.js';
import { type ApiKeyStore, identifyApiKey, isSameHash, hasStoredApiKeyFormat } from './stored-api-key.js';

/**
 * The environment's API key and the stored keys. Nothing is cached between requests: a key that is revoked, expired,
 * or without an account is rejected at once, at every gateway. The environment's key needs no store.
 */
export class StoredApiKeys implements ApiKeys {
  constructor(
    private readonly fixed: ApiKeys,
    private readonly store: Pick<ApiKeyStore, 'findWithTime'>,
  ) {}

  async authenticate(text: string): Promise<Principal | undefined> {
    const fixed = await this.fixed.authenticate(text);
    if (fixed !== undefined || !hasStoredApiKeyFormat(text)) return fixed;
    const { id, sha256 } = identifyApiKey(text);
    const found = await this.store.findWithTime(id);
    if (found === undefined || !isSameHash(found.key.sha256, sha256)) return undefined;
    const { account, scopes, expiresAt } = found.key;
    if (expiresAt !== null && Date.parse(expiresAt) <= found.now) return undefined;
    return { keyId: id, account, scopes: new Set(scopes) };
  }
}
