import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { isUnder, isVersioned } from '../http/request-path.js';
import { Problem, retryAfter } from '../problems/problem.js';
import type { ApiKeyUseRecorder } from './api-key-use-recorder.js';
import type { Authenticator } from './authenticator.js';
import { rememberCaller } from './caller.js';
import type { RateLimit, RateState } from './rate-limit.js';
import { assertStillAllowed } from './still-allowed.js';

/** If receiving the body of a request takes longer than this time, in milliseconds, the caller is checked again. */
const SLOW_BODY_MS = 1_000;

/** The rate limits of callers. */
export interface RateLimits {
  apiKey: RateLimit;
  token: RateLimit;
}

/**
 * Checks every request before its body is read: first the API key, the token or the session, then the rate limits, then the scope,
 * then the rule for tokens. A route under `/v1` without a scope is closed to every caller.
 */
export function useAuthentication(
  server: FastifyInstance,
  authenticator: Authenticator,
  rateLimits: RateLimits,
  uses: Pick<ApiKeyUseRecorder, 'note'>,
): void {
  const admitted = new WeakMap<FastifyRequest, number>();
  server.addHook('onRequest', async (request, reply) => {
    const { isPublic } = request.routeOptions.config;
    if (!isVersioned(request) && (isPublic === true || isDocs(request))) return;

    const caller = await authenticator.authenticate(request.headers);
    rememberCaller(request, caller);
    uses.note(caller.keyId);
    admitted.set(request, performance.now());

    await applyRateLimits(rateLimits, caller, reply);
    assertPermitted(caller, request);
  });
  server.addHook('preHandler', async (request) => {
    const since = admitted.get(request);
    if (since !== undefined && performance.now() - since > SLOW_BODY_MS)
      await assertStillAllowed(authenticator, request);
  });
}

/**
 * Counts the request, sets the rate limit headers and rejects a request above a limit. A request with a token counts for
 * the token and for its API key. A request above the token's limit does not count for the API key, so that one browser
 * cannot use up the limit of the key.
 */
export async function applyRateLimits(
  { apiKey, token }: RateLimits,
  { keyId, tokenId }: Principal,
  reply: FastifyReply,
): Promise<void> {
  const own = tokenId === undefined ? undefined : await token.count(tokenId);
  if (own !== undefined) applyRateState('token', own, reply);
  const ofKey = await apiKey.count(keyId);
  if (own === undefined || ofKey.isOver || ofKey.remaining < own.remaining)
    applyRateState(own === undefined ? 'API key' : 'API key that created the token', ofKey, reply);
}

function applyRateState(
  whose: string,
  { isOver, limit, remaining, resetMs }: RateState,
  reply: FastifyReply,
): void {
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': Math.ceil(resetMs / 1000),
  });
  if (!isOver) return;
  const detail = `The ${whose} has reached its limit of ${limit} requests per minute.`;
  throw new Problem('rate_limited', detail, { headers: retryAfter(resetMs) });
}

/** Checks the scope and the rule for tokens of a route. @throws {Problem} `forbidden` */
function assertPermitted(caller: Principal, request: FastifyRequest): void {
  const { scopes, tokenRule = 'denied' } = request.routeOptions.config;
  const isToken = caller.tokenId !== undefined;
  if (scopes === undefined) throw new Problem('forbidden', 'No API key or token permits this operation.');
  if (isToken && tokenRule === 'keys-only')
    throw new Problem('forbidden', 'This operation requires an API key; a token is not enough.');
  if (!scopes.some((scope) => caller.scopes.has(scope))) {
    const credential = isToken ? 'token' : 'API key';
    const listed = scopes.join(', ');
    const detail =
      scopes.length === 1
        ? `The ${credential} does not have the required scope ${listed}.`
        : `The ${credential} does not have any of the scopes ${listed}; one of these scopes is required.`;
    throw new Problem('forbidden', detail);
  }
  if (caller.contactIds !== undefined && tokenRule === 'denied')
    throw new Problem('forbidden', 'A token that is restricted to contacts does not permit this operation.');
}

/** True for a documentation page. A library registers these routes, so they cannot declare that they are public. */
function isDocs(request: FastifyRequest): boolean {
  return isUnder('/docs', request);
}
