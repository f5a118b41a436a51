import type { FastifyRequest } from 'fastify';
import type { ApiKeys } from '#accounts';
import { Problem } from '../problems/problem.js';
import { callerOf } from './caller.js';

/** True if the API key of an authenticated request is still valid, with the same account and the required scope. */
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
 * Rejects a long request whose API key was revoked after the request began.
 * @throws {Problem} `unauthenticated`
 */
export async function assertStillAllowed(keys: ApiKeys, request: FastifyRequest): Promise<void> {
  if (await isStillAllowed(keys, request)) return;
  throw new Problem('unauthenticated', 'The API key was revoked while the request was in progress.');
}
