import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PromMetrics } from '#metrics';

/** Route whose requests last as long as the caller wants. Their durations would hide all others. */
const STREAM = '/v1/events/stream';
/** The methods with time series of their own. Callers may send any other. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts and times the requests of an HTTP server by route. */
export function measureRequests(server: FastifyInstance, metrics: PromMetrics): void {
  const labels = ['method', 'route', 'status'] as const;
  const requests = metrics.counter(
    'tidings_http_requests_total',
    'Number of HTTP requests by method, route (`unmatched` for an unknown URL) and status (`aborted` if the caller disconnected).',
    labels,
  );
  const seconds = metrics.histogram(
    'tidings_http_request_duration_seconds',
    'Duration of the HTTP requests, without event streams.',
    ['method', 'route'],
  );
  const count = (request: FastifyRequest, status: string): void => {
    requests.labels(methodOf(request), routeOf(request), status).inc();
  };
  server.addHook('onResponse', (request, reply, done) => {
    count(request, String(reply.statusCode));
    const route = routeOf(request);
    if (route !== STREAM) seconds.labels(methodOf(request), route).observe(reply.elapsedTime / 1_000);
    done();
  });
  server.addHook('onRequestAbort', (request, done) => {
    count(request, 'aborted');
    done();
  });
}

function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : 'other';
}

/** Returns the pattern of the route, for example `/v1/sends/:id`, so that the number of values is bounded. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
}
