import { fastifyHelmet } from '@fastify/helmet';
import type { FastifyAdapter } from '@nestjs/platform-fastify';

/** What callers in a browser may read of a reply besides its body. */
const EXPOSED = [
  'Location',
  'X-Request-Id',
  'Retry-After',
  'Idempotent-Replayed',
  'Age',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];
const PREFLIGHT_SECONDS = 600;

/**
 * What browsers are told: pages load nothing from elsewhere and stand in nobody's frame, and no other origin reads a
 * reply but these.
 */
export function useBrowserRules(adapter: FastifyAdapter, origins: readonly string[]): void {
  const server = adapter.getInstance();
  void server.register(fastifyHelmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        imgSrc: ["'self'", 'data:'],
        objectSrc: ["'none'"],
        // The page of the documentation styles itself.
        styleSrc: ["'self'", "'unsafe-inline'"],
      },
    },
    frameguard: { action: 'deny' },
    // Whoever puts TLS in front of the gateway knows whether all of the host speaks it.
    strictTransportSecurity: false,
  });
  if (origins.length === 0) return;
  adapter.enableCors({
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  });
}
