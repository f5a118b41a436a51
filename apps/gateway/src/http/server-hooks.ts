import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '#platform';
import { GATEWAY_MARK } from '#upstream';
import { callerOf } from '../auth/caller.js';
import { Problem } from '../problems/problem.js';
import { pathOf } from '../problems/problem.filter.js';
import type { RouteTable } from './route-table.js';
import { isForm } from './slow-callers.js';

/** What happens to every request, whatever handler it goes to. */
export function useServerHooks(server: FastifyInstance, routes: RouteTable, logger: Logger): void {
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, [GATEWAY_MARK.name]: GATEWAY_MARK.value });
    if (isVersioned(pathOf(request.url))) {
      reply.header('cache-control', 'no-store');
      if (request.headers[GATEWAY_MARK.name] !== undefined) throw loop();
    }
    // Before the body is read: nobody waits for it.
    if (request.is404) throw unknownAddress(request, routes);
    await Promise.resolve();
  });
  server.addHook('preParsing', async (request) => {
    if (isForm(request) && request.routeOptions.url !== MULTIPART_ROUTE) {
      throw new Problem('unsupported_media_type', 'Send application/json here.');
    }
    await Promise.resolve();
  });
  server.addHook('onResponse', async (request, reply) => {
    logRequest(logger, request, { status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) });
    await Promise.resolve();
  });
  server.addHook('onRequestAbort', async (request) => {
    logRequest(logger, request, { aborted: true });
    await Promise.resolve();
  });
}

/** The one address that takes files. */
const MULTIPART_ROUTE = '/v1/messages/send';

/** Replies under `/v1` are one caller's, and of the moment. */
function isVersioned(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** Refused before anything else is looked at: what a gateway asks for here would come back here, again and again. */
function loop(): Problem {
  const detail =
    'This is a Tidings gateway, not a messaging service: set UPSTREAM_BASE_URL, or the baseUrl of the account, to the messaging service.';
  return new Problem('loop_detected', detail);
}

function unknownAddress(request: FastifyRequest, routes: RouteTable): Problem {
  const methods = routes.methodsOf(pathOf(request.url));
  if (methods.length === 0) return new Problem('not_found', 'Nothing is served at this address.');
  const allow = methods.join(', ');
  return new Problem('method_not_allowed', `This address knows ${allow}.`, { headers: { allow } });
}

/** One line a request: never its address, body, query or key, which may hold what nobody should read in a log. */
function logRequest(
  logger: Logger,
  request: FastifyRequest,
  outcome: { status: number; durationMs: number } | { aborted: true },
): void {
  const account = callerOf(request)?.account;
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      ...(account === undefined ? {} : { account }),
      ...outcome,
    },
    'request',
  );
}
