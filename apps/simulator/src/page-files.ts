import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { codeOf } from './error-properties.js';

const FILES = [
  { route: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { route: '/phone.css', file: 'phone.css', type: 'text/css; charset=utf-8' },
  { route: '/phone.js', file: 'phone.js', type: 'text/javascript; charset=utf-8' },
] as const;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves the phone page. Reads the page's files once, when the server starts. */
export async function pageFiles(server: FastifyInstance): Promise<void> {
  const folder = dirname(fileURLToPath(import.meta.url));
  for (const { route, file, type } of FILES) {
    const content = await readPublicFile(folder, file);
    server.get(route, (_request, reply) =>
      reply
        .headers({
          'content-type': type,
          'content-security-policy': POLICY,
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-cache',
        })
        .send(content),
    );
  }
}

/**
 * Searches for a page file in all parent folders. The build does not copy the page, so that the file is found
 * from the source and from `dist`.
 */
async function readPublicFile(start: string, file: string): Promise<Buffer> {
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, 'apps', 'simulator', 'public', file);
    try {
      return await readFile(path);
    } catch (error) {
      const missing = codeOf(error) === 'ENOENT';
      if (!missing || dirname(folder) === folder)
        throw new Error(`apps/simulator/public/${file} was not found in any parent folder of ${start}`, {
          cause: error,
        });
    }
  }
}
