import type { FastifyRequest } from 'fastify';
import type { ApiKeys } from '#accounts';
import { Problem } from '../problems/problem.js';
import { callerOf } from './caller.js';

/** Whether the key of a request that was let in, perhaps long ago, would be let in again as the same. */
export async function isStillAllowed(keys: ApiKeys, request: FastifyRequest): Promise<boolean> {
  const key = request.headers['x-api-key'];
  const principal = typeof key === 'string' ? await keys.authenticate(key) : undefined;
  if (principal === undefined) return false;
  const { keyId, account } = callerOf(request) ?? {};
  const { scope } = request.routeOptions.config;
  return (
    principal.keyId === keyId &&
    principal.account === account &&
    scope !== undefined &&
    principal.scopes.has(scope)
  );
}

/**
 * For requests that take their time: what comes of one is not for a key that was revoked meanwhile.
 * @throws {Problem}
 */
export async function assertStillAllowed(keys: ApiKeys, request: FastifyRequest): Promise<void> {
  if (await isStillAllowed(keys, request)) return;
  throw new Problem('unauthenticated', 'The API key was revoked while the request was under way.');
}
