import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeys } from '#accounts';
import { Problem, retryAfter } from '../problems/problem.js';
import { rememberCaller } from './caller.js';
import type { RateLimit } from './rate-limit.js';
import { assertStillAllowed } from './still-allowed.js';

/** Whose body takes longer is asked again who they are, in milliseconds. */
const SLOW_BODY_MS = 1_000;

/**
 * Lets in whom the key in `X-API-Key` allows, before a byte of the body is read: first who it is, then how often, then
 * whether they may. Nobody gets to a handler under `/v1` that declares no scope.
 */
export function useAuthentication(server: FastifyInstance, keys: ApiKeys, rateLimit: RateLimit): void {
  const admitted = new WeakMap<FastifyRequest, number>();
  server.addHook('onRequest', async (request, reply) => {
    const { scope, isPublic } = request.routeOptions.config;
    if (!isVersioned(request) && (isPublic === true || isDocs(request))) return;

    const key = request.headers['x-api-key'];
    if (typeof key !== 'string' || key === '') {
      throw new Problem('unauthenticated', 'Send your API key in the header X-API-Key.');
    }
    const principal = await keys.authenticate(key);
    if (principal === undefined) throw new Problem('unauthenticated', 'Nobody has this API key.');
    rememberCaller(request, principal);
    admitted.set(request, performance.now());

    await keepLimit(rateLimit, principal.keyId, reply);

    if (scope === undefined) throw new Problem('forbidden', 'No API key opens this address.');
    if (!principal.scopes.has(scope)) throw new Problem('forbidden', `The API key lacks the scope ${scope}.`);
  });
  server.addHook('preHandler', async (request) => {
    const since = admitted.get(request);
    if (since !== undefined && performance.now() - since > SLOW_BODY_MS)
      await assertStillAllowed(keys, request);
  });
}

/** Counts the request, and tells the caller how it stands. */
async function keepLimit(rateLimit: RateLimit, keyId: string, reply: FastifyReply): Promise<void> {
  const { isOver, limit, remaining, resetMs } = await rateLimit.count(keyId);
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': Math.ceil(resetMs / 1000),
  });
  if (!isOver) return;
  const detail = `An API key may make ${limit} requests a minute.`;
  throw new Problem('rate_limited', detail, { headers: retryAfter(resetMs) });
}

function isVersioned(request: FastifyRequest): boolean {
  return isUnder('/v1', request);
}

/** The pages of the documentation come from a library, which declares nothing. */
function isDocs(request: FastifyRequest): boolean {
  return isUnder('/docs', request);
}

function isUnder(path: string, request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? request.url;
  return route === path || route.startsWith(`${path}/`);
}
