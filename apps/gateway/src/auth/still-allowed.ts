import type { FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem.js';
import type { Authenticator } from './authenticator.js';
import { callerOf } from './caller.js';

/** True if the credential of an authenticated request is still valid, with the same account and a required scope. */
export async function isStillAllowed(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<boolean> {
  const caller = await authenticator.recheck(request.headers);
  if (caller === undefined) return false;
  const { keyId, tokenId, account } = callerOf(request) ?? {};
  const { scopes = [] } = request.routeOptions.config;
  return (
    caller.keyId === keyId &&
    caller.tokenId === tokenId &&
    caller.account === account &&
    scopes.some((scope) => caller.scopes.has(scope))
  );
}

/**
 * Rejects a long request whose API key or token was revoked after the request began.
 * @throws {Problem} `unauthenticated`
 */
export async function assertStillAllowed(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<void> {
  if (await isStillAllowed(authenticator, request)) return;
  throw callerOf(request)?.tokenId === undefined
    ? new Problem('unauthenticated', 'The API key was revoked while the request was in progress.')
    : new Problem('unauthenticated', 'The token expired or was revoked while the request was in progress.');
}
