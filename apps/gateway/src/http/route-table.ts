import type { FastifyInstance } from 'fastify';

/**
 * All registered routes. The table distinguishes an unknown path (404) from an unsupported method (405). A path that
 * is registered literally has only the methods of the literal route, even if it also matches a route with a
 * parameter.
 */
export class RouteTable {
  private readonly routes: { url: string; pattern: RegExp; method: string }[] = [];

  /** Records every route that the server registers after this call. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      // The route for CORS preflights matches every path.
      if (url === '*') return;
      for (const one of [method].flat()) this.routes.push({ url, pattern: patternOf(url), method: one });
    });
  }

  /** Returns the methods of a path in alphabetical order. The list is empty for an unknown path. */
  methodsOf(path: string): string[] {
    const literal = this.routes.filter(({ url }) => url === path);
    const found = literal.length > 0 ? literal : this.routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.map(({ method }) => method))].sort();
  }
}

/** Returns the pattern that matches the paths of a route. In the route, `:name` is one segment and `*` any text. */
function patternOf(url: string): RegExp {
  const source = url
    .split('/')
    .map((segment) => {
      if (segment.startsWith(':')) return '[^/]+';
      return segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
    })
    .join('/');
  return new RegExp(`^${source}$`);
}
