import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { Problem } from '../problems/problem.js';
import { type Authenticator, INVALID_TOKEN_HEADERS } from './authenticator.js';
import { callerOf } from './caller.js';

/**
 * Checks the credential of an authenticated request again. Resolves to the caller if the credential is still valid, with
 * the same account and a required scope.
 */
export async function recheckCaller(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Principal | undefined> {
  const caller = await authenticator.recheck(request.headers);
  if (caller === undefined) return undefined;
  const { keyId, tokenId, session, account } = callerOf(request) ?? {};
  const { scopes = [] } = request.routeOptions.config;
  const isSame =
    caller.keyId === keyId &&
    caller.tokenId === tokenId &&
    caller.session?.id === session?.id &&
    caller.account === account;
  return isSame && scopes.some((scope) => caller.scopes.has(scope)) ? caller : undefined;
}

/** True if the credential of an authenticated request is still valid, with the same account and a required scope. */
export async function isStillAllowed(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<boolean> {
  return (await recheckCaller(authenticator, request)) !== undefined;
}

/**
 * Rejects a long request whose API key, token or session ended after the request began.
 * @throws {Problem} `unauthenticated`
 */
export async function assertStillAllowed(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<void> {
  if (await isStillAllowed(authenticator, request)) return;
  const { tokenId, session } = callerOf(request) ?? {};
  if (session !== undefined)
    throw new Problem(
      'unauthenticated',
      'The session ended while the request was in progress. Sign in again.',
    );
  if (tokenId !== undefined)
    throw new Problem(
      'unauthenticated',
      'The token expired or was revoked while the request was in progress.',
      {
        headers: INVALID_TOKEN_HEADERS,
      },
    );
  throw new Problem('unauthenticated', 'The API key was revoked while the request was in progress.');
}
