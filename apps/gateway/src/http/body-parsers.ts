import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';
import { LIMITS } from './limits.js';

/** Decodes strictly: an invalid byte is an error instead of U+FFFD. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Accepts JSON bodies only: every other content type gets 415, except the multipart bodies of sends.
 * An empty body counts as no body, because many clients set the content type on every request.
 */
export function useJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer', bodyLimit: LIMITS.bodyBytes },
    (request, bytes, done) => {
      if (bytes.length === 0) {
        done(null, undefined);
        return;
      }
      const finish = (error: Error | null, body?: unknown): void => {
        if (error === null) done(null, body);
        else
          done(
            new Problem('malformed_body', `The request body is not valid JSON: ${error.message}.`, {
              cause: error,
            }),
          );
      };
      // An error thrown here gets the same response as an error passed to `done`.
      void parse(request, textOf(bytes, request.headers['content-type']), finish);
    },
  );
}

/** Decodes a UTF-8 body. @throws {Problem} for another charset in the content type, and for invalid UTF-8 */
function textOf(bytes: Buffer, contentType = ''): string {
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s;"]*)/gi)].map(([, name]) => name);
  if (charsets.some((name) => !/^utf-?8$/i.test(name ?? ''))) {
    throw new Problem(
      'unsupported_media_type',
      'JSON must be encoded as UTF-8. Send charset=utf-8 or no charset.',
    );
  }
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    throw new Problem('malformed_body', 'The request body is not valid UTF-8.', { cause });
  }
}
