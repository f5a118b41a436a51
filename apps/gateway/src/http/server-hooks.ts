import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GATEWAY_HEADER } from '#upstream';
import { Problem } from '../problems/problem.js';
import { assertQueuesAreOnlyRead } from '../queues/read-only.js';
import { isVersioned, routedPathOf } from './request-path.js';
import type { RouteTable } from './route-table.js';
import { isForm } from './multipart.js';

/** Adds the hooks of every request: response headers, loop detection, 404 and 405. */
export function useServerHooks(server: FastifyInstance, routes: RouteTable): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers({ 'x-request-id': request.id, [GATEWAY_HEADER.name]: GATEWAY_HEADER.value });
    // Responses of the API must not be cached.
    if (isVersioned(request)) {
      reply.header('cache-control', 'no-store');
      if (request.headers[GATEWAY_HEADER.name] !== undefined) throw loop();
    }
    // Rejected here, before the body is read.
    assertQueuesAreOnlyRead(request);
    if (request.is404) throw unknownRoute(request, routes);
    done();
  });
  server.addHook('preParsing', (request, _, payload, done) => {
    if (isForm(request) && request.routeOptions.url !== MULTIPART_ROUTE) {
      throw new Problem('unsupported_media_type', 'This endpoint accepts application/json only.');
    }
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new Problem('unsupported_media_type', 'The body must be sent without a Content-Encoding.');
    }
    done(null, payload);
  });
}

/** The only route that accepts multipart forms. */
const MULTIPART_ROUTE = '/v1/messages/send';

/** Returns the problem of a request that another gateway sent. Serving such a request could loop without end. */
function loop(): Problem {
  const detail =
    'A Tidings gateway, this one or another, uses this URL as its messaging service. At the gateway that sent the request, set UPSTREAM_BASE_URL, or the baseUrl of the account, to the address of the messaging service.';
  return new Problem('loop_detected', detail);
}

function unknownRoute(request: FastifyRequest, routes: RouteTable): Problem {
  const methods = routes.methodsOf(routedPathOf(request.url));
  if (methods.length === 0) return new Problem('not_found', 'This URL does not exist.');
  const allow = methods.join(', ');
  return new Problem('method_not_allowed', `This URL supports only ${allow}.`, { headers: { allow } });
}
