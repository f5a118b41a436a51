import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { once, type Once } from '../calls/once.js';
import { ROOT_FOLDER } from '../root-folder.js';

const PAGE_FOLDER = join(ROOT_FOLDER, 'apps/gateway/public/docs');

/** A file of the page: where it is served below `/docs`, and where it comes from. */
interface PageFile {
  name: string;
  type: string;
  from: 'page' | 'swagger-ui';
}

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const FILES: readonly PageFile[] = [
  { name: 'page.css', type: TYPES.css, from: 'page' },
  { name: 'page.js', type: TYPES.js, from: 'page' },
  { name: 'icon.svg', type: TYPES.svg, from: 'page' },
  { name: 'swagger-ui.css', type: TYPES.css, from: 'swagger-ui' },
  { name: 'swagger-ui-bundle.js', type: TYPES.js, from: 'swagger-ui' },
];

/** Serves the page about the API at `/docs`. It loads nothing from other hosts. */
export function serveDocsPage(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  const page = readOnce('page', 'index.html');
  server.get('/docs', async (_request, reply) =>
    reply.headers(headersOf('text/html; charset=utf-8')).send(await page()),
  );
  // The links of the page are relative, so that it also works below a path of a proxy.
  server.get('/docs/', (_request, reply) => reply.redirect('../docs', 308));
  for (const { name, type, from } of FILES) {
    const file = readOnce(from, name);
    server.get(`/docs/${name}`, async (_request, reply) => reply.headers(headersOf(type)).send(await file()));
  }
}

function headersOf(type: string): Record<string, string> {
  return { 'content-type': type, 'cache-control': 'no-cache' };
}

/** Returns a function that reads a file of the page once and then keeps it in memory. */
function readOnce(from: PageFile['from'], name: string): Once<Buffer> {
  return once(() => readFile(join(from === 'page' ? PAGE_FOLDER : swaggerFolder(), name)));
}

function swaggerFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
}
