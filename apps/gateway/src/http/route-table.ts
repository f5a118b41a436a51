import type { FastifyInstance } from 'fastify';

/** All registered routes. The table tells an unknown path (404) from an unsupported method (405). */
export class RouteTable {
  private readonly routes: { pattern: RegExp; method: string }[] = [];

  /** Records every route that the server registers after this call. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      // The route for CORS preflights matches every path.
      if (url === '*') return;
      for (const one of [method].flat()) this.routes.push({ pattern: patternOf(url), method: one });
    });
  }

  /** Returns the methods of a path in alphabetical order. The list is empty for an unknown path. */
  methodsOf(path: string): string[] {
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    return [...new Set(found)].sort();
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
