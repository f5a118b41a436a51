import { createHash } from 'node:crypto';

/**
 * Length of the hash of an upstream address, in characters: enough to distinguish the few addresses of an
 * account.
 */
const LENGTH = 16;

/**
 * Returns a hash that identifies a base address in stored data without revealing the address.
 * @param baseUrl base address with `/v1`, without a trailing slash
 */
export function hashOfUpstreamAddress(baseUrl: string): string {
  return createHash('sha256').update(baseUrl).digest('base64url').slice(0, LENGTH);
}
