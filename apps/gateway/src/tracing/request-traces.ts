import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTraceContext, type TraceContext } from '#platform';
import type { TraceSpan, Tracing } from '#tracing';

/** Route whose requests last as long as the caller wants. */
const STREAM = '/v1/events/stream';

const spans = new WeakMap<FastifyRequest, TraceSpan>();

/** Traces the requests of the API. A request continues the trace of its header `traceparent`. */
export function traceRequests(server: FastifyInstance, tracing: Tracing): void {
  server.addHook('onRequest', async (request) => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    if (route?.startsWith('/v1/') === true && route !== STREAM)
      spans.set(request, startSpan(tracing, request, route));
    await Promise.resolve();
  });
  server.addHook('onResponse', async (request, reply) => {
    const status = reply.statusCode;
    spans.get(request)?.end({
      attributes: { 'http.response.status_code': status },
      ...(status >= 500 ? { error: String(status) } : {}),
    });
    await Promise.resolve();
  });
  server.addHook('onRequestAbort', async (request) => {
    spans.get(request)?.end({ error: 'the caller closed the connection' });
    await Promise.resolve();
  });
}

/** Returns the trace of a request, or undefined if the request is not traced. */
export function traceOf(request: FastifyRequest): TraceContext | undefined {
  return spans.get(request)?.context;
}

function startSpan(tracing: Tracing, request: FastifyRequest, route: string): TraceSpan {
  const { traceparent } = request.headers;
  return tracing.start(`${request.method} ${route}`, {
    kind: 'server',
    parent: isTraceContext(traceparent) ? traceparent : undefined,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'tidings.request_id': request.id,
    },
  });
}
