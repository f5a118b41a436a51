import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTraceContext, type TraceContext } from '#platform';
import { isSampled, type SpanEnd, type TraceSpan, type Tracing } from '#tracing';
import { onRequestEnd } from '../http/request-ends.js';
import { STREAM_ROUTE } from '../http/request-path.js';

const spans = new WeakMap<FastifyRequest, TraceSpan>();

/** Traces the requests of the API. A request continues the trace of its header `traceparent`. */
export function traceRequests(server: FastifyInstance, tracing: Tracing): void {
  onRequestEnd(server, (request, response) => {
    spans.get(request)?.end(() => endOf(response?.status));
  });
  // A callback instead of a promise: this hook runs in every request.
  server.addHook('onRequest', (request, _, done) => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    if (route?.startsWith('/v1/') === true && route !== STREAM_ROUTE) {
      const span = startTrace(tracing, request, route);
      if (span !== undefined) spans.set(request, span);
    }
    done();
  });
}

function endOf(status: number | undefined): SpanEnd {
  if (status === undefined) return { error: 'the connection closed before the response was sent' };
  const attributes = { 'http.response.status_code': status };
  return status >= 500 ? { attributes, error: String(status) } : { attributes };
}

/**
 * Returns the trace that a send continues: the trace of the caller, whether it is recorded or not, or else a new
 * trace that is recorded. At a low sampling rate, most requests have no trace, and cost little more than with tracing
 * turned off.
 */
export function traceOf(request: FastifyRequest): TraceContext | undefined {
  return spans.get(request)?.context;
}

/** Begins the span of a request. Returns undefined if the caller sent no trace and the new trace is not recorded. */
function startTrace(tracing: Tracing, request: FastifyRequest, route: string): TraceSpan | undefined {
  const { traceparent } = request.headers;
  const parent = isTraceContext(traceparent) ? traceparent : undefined;
  const span = tracing.start(`${request.method} ${route}`, {
    kind: 'server',
    parent,
    attributes: () => ({
      'http.request.method': request.method,
      'http.route': route,
      'tidings.request_id': request.id,
    }),
  });
  return parent !== undefined || isSampled(span.context) ? span : undefined;
}
