import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import helmet from 'helmet';
import { CONSOLE_HEADER } from '../auth/console-cookie.js';

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
  // The library for CORS answers preflight requests before the hook that sets this header.
  server.addHook('onSend', (request, reply, payload, done) => {
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    done(null, payload);
  });
  const options = {
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  };
  adapter.enableCors({
    delegator: (request, callback) => {
      callback(null, { ...options, ...allowedHeadersOf(request.headers['access-control-request-headers']) });
    },
  });
}

/**
 * Returns the headers that a preflight request may use: all that it names, except the one that the web console alone may
 * send. By default, the library allows all of them.
 */
function allowedHeadersOf(requested = ''): { allowedHeaders?: string[] } {
  const names = requested.split(',').map((name) => name.trim());
  const allowedHeaders = names.filter((name) => name.toLowerCase() !== CONSOLE_HEADER);
  return allowedHeaders.length === names.length ? {} : { allowedHeaders };
}

/**
 * Returns the security headers that helmet sets. They are the same for each response, so helmet is called only once.
 * A call for each response would take a tenth of the time of a request.
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
    if (error !== undefined)
      throw new Error('the npm package helmet could not set the security headers', { cause: error });
  });
  return headers;
}
