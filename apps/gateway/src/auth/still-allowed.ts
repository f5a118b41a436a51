import type { FastifyRequest } from 'fastify';
import type { ApiKeys, Scope } from '#accounts';
import { callerOf } from './caller.js';

/** Whether the key of a request that was let in, perhaps long ago, would be let in again as the same. */
export async function isStillAllowed(keys: ApiKeys, request: FastifyRequest, scope: Scope): Promise<boolean> {
  const key = request.headers['x-api-key'];
  const principal = typeof key === 'string' ? await keys.authenticate(key) : undefined;
  if (principal === undefined) return false;
  const { keyId, account } = callerOf(request) ?? {};
  return principal.keyId === keyId && principal.account === account && principal.scopes.has(scope);
}
