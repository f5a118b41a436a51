import { createHash } from 'node:crypto';

/** Length of a stamp, in characters: enough to distinguish the few addresses of an account. */
const LENGTH = 16;

/**
 * Returns a stamp that identifies a base address where it is stored, without revealing the address.
 * @param baseUrl base address with `/v1`, without a trailing slash
 */
export function hashOfUpstreamAddress(baseUrl: string): string {
  return createHash('sha256').update(baseUrl).digest('base64url').slice(0, LENGTH);
}
