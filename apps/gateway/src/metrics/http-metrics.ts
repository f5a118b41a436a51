import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PromMetrics } from '#metrics';
import { onRequestEnd } from '../http/request-ends.js';
import { STREAM_ROUTE } from '../http/request-path.js';

/** The HTTP methods with time series of their own. All other methods are counted together as `other`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts and times the requests of an HTTP server by route. */
export function measureRequests(server: FastifyInstance, metrics: PromMetrics): void {
  const labels = ['method', 'route', 'status'] as const;
  const requests = metrics.counter(
    'tidings_http_requests_total',
    'Number of HTTP requests by method, route (`unmatched` for an unknown URL) and status (`aborted` if the connection closed before the response was sent).',
    labels,
  );
  const seconds = metrics.histogram(
    'tidings_http_request_duration_seconds',
    'Duration of the HTTP requests that were answered, without event streams.',
    ['method', 'route'],
  );
  onRequestEnd(server, (request, response) => {
    const method = methodOf(request);
    const route = routeOf(request);
    requests.labels(method, route, response === undefined ? 'aborted' : String(response.status)).inc();
    // The durations of streams would hide all others.
    if (response !== undefined && route !== STREAM_ROUTE)
      seconds.labels(method, route).observe(response.durationMs / 1_000);
  });
}

function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : 'other';
}

/** Returns the pattern of the route, for example `/v1/sends/:id`, so that the number of values is bounded. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
}
