import type { FastifyInstance } from 'fastify';

/** The routes that there are, to tell an unknown address from a method that a known address lacks. */
export class RouteTable {
  private readonly routes: { pattern: RegExp; method: string }[] = [];

  /** Notes every route that is registered from now on. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      // The answer to preflights is at no address of its own.
      if (url === '*') return;
      for (const one of [method].flat()) this.routes.push({ pattern: patternOf(url), method: one });
    });
  }

  /** The methods of an address, in alphabetical order; none for an address that is not there. */
  methodsOf(path: string): string[] {
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    return [...new Set(found)].sort();
  }
}

/** The pattern of a route's address, in which `:name` is one segment and `*` anything. */
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
