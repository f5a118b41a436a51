import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SecretCipher } from '#accounts';
import { isReservedHeader } from './header-rules.js';
import { signingKeyOf } from './signature.js';
import { decryptHeaders, type EndpointForDelivery, signingSecretsValidAt } from './stored-endpoint.js';

/** Max number of cached secrets. Also the max number of endpoints whose decrypted headers are cached. */
const MAX_CACHED = 2_000;

/**
 * Decrypts the secrets and headers of endpoints, and caches the results, because decryption takes longer than signing.
 * An expired secret is not used even if it is cached, because the stored endpoint says which secrets are valid.
 */
export class DecryptedSecretCache {
  private readonly keys = new LRUCache<string, KeyObject>({ max: MAX_CACHED });
  private readonly headers = new LRUCache<string, Readonly<Record<string, string>>>({ max: MAX_CACHED });

  constructor(private readonly cipher: SecretCipher) {}

  /**
   * Returns the keys of the secrets that are valid at the time `at` (milliseconds since 1970), at least one key.
   * @throws {SecretDecryptionError} if no known encryption key decrypts a secret
   * @throws {Error} if no secret is valid
   */
  signingKeysAt(endpoint: EndpointForDelivery, at: number): KeyObject[] {
    const keys = signingSecretsValidAt(endpoint, at).map((sealed) => this.keyOf(endpoint.id, sealed));
    if (keys.length === 0) throw new Error('the webhook has no valid signing secret');
    return keys;
  }

  /**
   * Returns the headers that are configured for the endpoint, without reserved headers, which only Tidings may set.
   * @throws {SecretDecryptionError} if no known encryption key decrypts the headers
   */
  headersOf(endpoint: EndpointForDelivery): Readonly<Record<string, string>> {
    if (endpoint.sealedHeaders === null) return {};
    const name = `${endpoint.id} ${endpoint.sealedHeaders}`;
    const known = this.headers.get(name);
    if (known !== undefined) return known;
    const all = Object.entries(decryptHeaders(endpoint, this.cipher));
    const own = Object.fromEntries(all.filter(([header]) => !isReservedHeader(header)));
    this.headers.set(name, own);
    return own;
  }

  private keyOf(endpointId: string, sealed: string): KeyObject {
    const name = `${endpointId} ${sealed}`;
    const known = this.keys.get(name);
    if (known !== undefined) return known;
    const key = signingKeyOf(this.cipher.decrypt(sealed, endpointId));
    this.keys.set(name, key);
    return key;
  }
}
