import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeys } from '#accounts';
import { Problem, retryAfter } from '../problems/problem.js';
import { rememberCaller } from './caller.js';
import type { RateLimit } from './rate-limit.js';
import { assertStillAllowed } from './still-allowed.js';

/** Duration of a body after which the API key is checked again, in milliseconds. */
const SLOW_BODY_MS = 1_000;

/**
 * Checks every request before its body is read: first the API key in `X-API-Key`, then the rate limit, then the scope.
 * A route under `/v1` without a scope is closed to every key.
 */
export function useAuthentication(server: FastifyInstance, keys: ApiKeys, rateLimit: RateLimit): void {
  const admitted = new WeakMap<FastifyRequest, number>();
  server.addHook('onRequest', async (request, reply) => {
    const { scope, isPublic } = request.routeOptions.config;
    if (!isVersioned(request) && (isPublic === true || isDocs(request))) return;

    const key = request.headers['x-api-key'];
    if (typeof key !== 'string' || key === '') {
      throw new Problem('unauthenticated', 'Send your API key in the X-API-Key header.');
    }
    const principal = await keys.authenticate(key);
    if (principal === undefined) throw new Problem('unauthenticated', 'Invalid API key.');
    rememberCaller(request, principal);
    admitted.set(request, performance.now());

    await applyRateLimit(rateLimit, principal.keyId, reply);

    if (scope === undefined) throw new Problem('forbidden', 'No API key grants access to this URL.');
    if (!principal.scopes.has(scope))
      throw new Problem('forbidden', `The API key does not have the required scope ${scope}.`);
  });
  server.addHook('preHandler', async (request) => {
    const since = admitted.get(request);
    if (since !== undefined && performance.now() - since > SLOW_BODY_MS)
      await assertStillAllowed(keys, request);
  });
}

/** Counts the request, sets the rate limit headers and rejects a request above the limit. */
async function applyRateLimit(rateLimit: RateLimit, keyId: string, reply: FastifyReply): Promise<void> {
  const { isOver, limit, remaining, resetMs } = await rateLimit.count(keyId);
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': Math.ceil(resetMs / 1000),
  });
  if (!isOver) return;
  const detail = `The API key has reached its limit of ${limit} requests per minute.`;
  throw new Problem('rate_limited', detail, { headers: retryAfter(resetMs) });
}

function isVersioned(request: FastifyRequest): boolean {
  return isUnder('/v1', request);
}

/** True for a documentation page. A library registers these routes, so they cannot declare that they are public. */
function isDocs(request: FastifyRequest): boolean {
  return isUnder('/docs', request);
}

function isUnder(path: string, request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? request.url;
  return route === path || route.startsWith(`${path}/`);
}
