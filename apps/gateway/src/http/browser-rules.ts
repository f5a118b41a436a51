import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import helmet from 'helmet';

/** Response headers that scripts of an allowed origin may read. */
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
 * Sets the security headers and CORS. Pages load resources from the gateway alone and cannot be framed.
 * @param origins web origins whose scripts may call the API; CORS stays off if there are none
 */
export function useBrowserRules(adapter: FastifyAdapter, origins: readonly string[]): void {
  const server = adapter.getInstance();
  const headers = securityHeaders();
  server.addHook('onRequest', (_, reply, done) => {
    reply.headers(headers);
    done();
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

/**
 * Returns the security headers that helmet sets. They are the same for each response, so helmet is asked only once: it
 * takes a tenth of a request's time.
 */
function securityHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => undefined,
  };
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        imgSrc: ["'self'", 'data:'],
        objectSrc: ["'none'"],
        // Swagger UI needs inline styles.
        styleSrc: ["'self'", "'unsafe-inline'"],
      },
    },
    frameguard: { action: 'deny' },
    // Left to the TLS proxy: only its operator knows whether every service of the host supports TLS.
    strictTransportSecurity: false,
  });
  setHeaders({} as IncomingMessage, response as unknown as ServerResponse, (error) => {
    if (error !== undefined) throw new Error('helmet set no headers', { cause: error });
  });
  return headers;
}
