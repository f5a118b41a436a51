import type { FastifyRequest } from 'fastify';
import type { ApiKeys, Scope } from '#accounts';
import { callerOf } from './caller.js';

/** Whether the key of a request that was let in, perhaps long ago, would be let in again for the same account. */
export async function isStillAllowed(keys: ApiKeys, request: FastifyRequest, scope: Scope): Promise<boolean> {
  const key = request.headers['x-api-key'];
  const principal = typeof key === 'string' ? await keys.authenticate(key) : undefined;
  return principal?.account === callerOf(request)?.account && principal?.scopes.has(scope) === true;
}
