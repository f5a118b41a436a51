import type { InMemoryApiKeyAuthenticator, Principal } from '../api-key/api-key.js';
import { areHashesEqual } from '../api-key/stored-api-key.js';
import {
  type FoundToken,
  hasTokenFormat,
  idAndHashOfToken,
  generateTokenText,
  type StoredToken,
  type TokenScope,
  type TokenStore,
} from './token.js';

/** The fields that a caller chooses for a new token. */
export interface NewToken {
  scopes: readonly TokenScope[];
  /** Ids of the contacts to which the token is restricted. Absent for a token without restriction. */
  contactIds?: readonly string[];
  /** Lifetime in seconds. The token ends earlier if its API key expires earlier. */
  expiresInSeconds: number;
}

/** A new token. `token` is the text of the token, which cannot be read later. */
export interface CreatedToken {
  id: string;
  token: string;
  /** When the token expires, as an ISO 8601 time. */
  expiresAt: string;
}

/**
 * Creates, authenticates and revokes tokens: short-lived credentials for browsers. A token belongs to the API
 * key that created it. Nothing is cached between requests: as soon as a token or its API key expires or is
 * revoked, every gateway rejects the token.
 */
export class TokenService {
  constructor(
    private readonly fixed: Pick<InMemoryApiKeyAuthenticator, 'find' | 'proofOf'>,
    private readonly store: TokenStore,
  ) {}

  /**
   * Creates a token for an API key. The text of the token is returned only here.
   * @param owner the API key that the token belongs to
   * @throws {AccountConflictError} if the API key has too many tokens
   */
  async create(
    { keyId, account, expiresAt: latestEnd }: Principal,
    { scopes, contactIds, expiresInSeconds }: NewToken,
  ): Promise<CreatedToken> {
    const token = generateTokenText();
    const { id, sha256 } = idAndHashOfToken(token);
    const keyProof = this.fixed.proofOf(keyId, token);
    const stored: StoredToken = {
      ...{ id, sha256, account, keyId, scopes: [...scopes] },
      ...(keyProof === undefined ? {} : { keyProof }),
      ...(contactIds === undefined ? {} : { contactIds: [...new Set(contactIds)] }),
    };
    const expiresAt = await this.store.add(stored, expiresInSeconds * 1_000, latestEnd);
    return { id, token, expiresAt: new Date(expiresAt).toISOString() };
  }

  /** Resolves to the caller that a token belongs to, or to undefined if the token is invalid. */
  async authenticate(text: string): Promise<Principal | undefined> {
    if (!hasTokenFormat(text)) return undefined;
    const { id, sha256 } = idAndHashOfToken(text);
    const found = await this.store.find(id);
    if (found === undefined || !areHashesEqual(found.token.sha256, sha256)) return undefined;
    if (found.expiresAt <= found.now) return undefined;
    const key = this.keyOf(found, text);
    if (key?.account !== found.token.account) return undefined;
    const { account, keyId, scopes, contactIds } = found.token;
    return {
      ...{ keyId, account, tokenId: id, expiresAt: found.expiresAt },
      scopes: new Set(scopes.filter((scope) => key.scopes.has(scope))),
      ...(contactIds === undefined ? {} : { contactIds: new Set(contactIds) }),
    };
  }

  /** Revokes a token of an account. Resolves to false if the account has no token with this id. */
  revoke(account: string, id: string): Promise<boolean> {
    return this.store.remove(account, id);
  }

  /** Returns the API key of a token, or undefined if the key is no longer valid. */
  private keyOf(
    { token, apiKey, now }: FoundToken,
    text: string,
  ): Pick<Principal, 'account' | 'scopes'> | undefined {
    const { keyId, keyProof } = token;
    if (keyProof !== undefined)
      return this.fixed.proofOf(keyId, text) === keyProof ? this.fixed.find(keyId) : undefined;
    if (apiKey === undefined) return undefined;
    const { account, scopes, expiresAt } = apiKey;
    const isExpired = expiresAt !== null && Date.parse(expiresAt) <= now;
    return isExpired ? undefined : { account, scopes: new Set(scopes) };
  }
}
