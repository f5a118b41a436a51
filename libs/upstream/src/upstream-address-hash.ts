import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/**
 * Length of the hash of an upstream address, in characters: enough to distinguish the few addresses of an
 * account.
 */
const LENGTH = 16;
/**
 * Hashes of the most recently used upstream addresses. Cached, because each send needs the hash of an address twice.
 */
const hashes = new LRUCache<string, string>({ max: 1_000 });

/**
 * Returns a hash that identifies a base address in stored data without revealing the address.
 * @param baseUrl base address, including its path such as `/v1`, without a trailing slash
 */
export function hashUpstreamAddress(baseUrl: string): string {
  const known = hashes.get(baseUrl);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(baseUrl).digest('base64url').slice(0, LENGTH);
  hashes.set(baseUrl, hash);
  return hash;
}
