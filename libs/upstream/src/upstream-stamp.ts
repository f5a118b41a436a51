import { createHash } from 'node:crypto';

/** So many characters tell the few addresses of an account apart. */
const LENGTH = 16;

/**
 * Stands for a base address where it is stored: it says nothing of the address itself.
 * @param baseUrl `/v1` included, without a trailing slash
 */
export function upstreamStamp(baseUrl: string): string {
  return createHash('sha256').update(baseUrl).digest('base64url').slice(0, LENGTH);
}
