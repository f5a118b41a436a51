import type { FastifyRequest } from 'fastify';

/** Route of the event stream. Its requests last as long as the caller wants. */
export const STREAM_ROUTE = '/v1/events/stream';

/** Returns the path of a URL without the query, which may contain a caller's data. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '/';
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** Returns the path of a URL as the router reads it: without origin and query, and with decoded characters. */
export function routedPathOf(url: string): string {
  const [path = ''] = url.replace(ORIGIN, '').split(/[?#]/, 1);
  try {
    return decodeURI(path) || '/';
  } catch {
    return path;
  }
}

/** True for a request of the API. Its path begins with `/v1`, however the caller wrote it. */
export function isVersioned(request: FastifyRequest): boolean {
  return isUnder('/v1', request);
}

/** True if the route of a request, or the path if there is no route, is `path` or below it. */
export function isUnder(path: string, { routeOptions, url }: FastifyRequest): boolean {
  const route = routeOptions.url ?? routedPathOf(url);
  return route === path || route.startsWith(`${path}/`);
}
