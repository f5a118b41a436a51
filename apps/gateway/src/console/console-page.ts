import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { isNavigationToQueues } from '../queues/console-navigation.js';
import { ROOT_FOLDER } from '../root-folder.js';

/**
 * Rules for the console's pages: everything comes from the gateway, and only files of the console can run as scripts.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Duration for which a browser may keep a file whose name contains a hash of its content, in milliseconds. */
const HASHED_MS = 365 * 86_400_000;
/** Paths below `/console` that are no pages. */
const NOT_PAGES = /^(assets|queues|sessions)\//;
const HASHED_NAME = /-[A-Z0-9]{8}\.\w+$/;

/**
 * Serves the web console at `/console`, and at every path below it that no other route serves. The script of the page
 * reads the path. The files contain no data, so they need no credential. `apps/launcher/bundle-console.mjs` makes
 * them. Must be called before authentication is set up, because a browser opens `/console/queues` without a
 * credential.
 */
export async function serveConsole(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpAdapter().getInstance();
  await server.register(fastifyStatic, {
    root: join(ROOT_FOLDER, 'dist/console'),
    serve: false,
    preCompressed: true,
  });
  const isPublic = { config: { isPublic: true } } as const;
  server.addHook('onRequest', async (request, reply) => {
    if (isNavigationToQueues(request)) return sendConsolePage(reply);
  });
  server.get('/console', isPublic, (_, reply) => sendConsolePage(reply));
  server.get<{ Params: { '*': string } }>('/console/*', isPublic, ({ params }, reply) => {
    // Other routes serve these paths, and the console has no page below them.
    if (NOT_PAGES.test(params['*'])) reply.callNotFound();
    else sendConsolePage(reply);
  });
  server.get<{ Params: { file: string } }>(
    '/console/assets/:file',
    isPublic,
    ({ params: { file } }, reply) => {
      const isHashed = HASHED_NAME.test(file);
      return reply.sendFile(`assets/${file}`, { immutable: isHashed, maxAge: isHashed ? HASHED_MS : 0 });
    },
  );
}

/** Answers with the page of the console. */
function sendConsolePage(reply: FastifyReply): FastifyReply {
  return reply
    .headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'cross-origin-opener-policy': 'same-origin',
    })
    .sendFile('index.html', { maxAge: 0, cacheControl: true });
}
