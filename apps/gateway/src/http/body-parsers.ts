import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';
import { LIMITS } from './limits.js';

/** Strict, so that no byte of a text is silently replaced by U+FFFD. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads JSON bodies and nothing else: any other type is answered 415, but for the multipart bodies of sends.
 * An empty body counts as none, as many clients name the type on every request.
 */
export function useJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer', bodyLimit: LIMITS.body },
    (request, bytes, done) => {
      if (bytes.length === 0) {
        done(null, undefined);
        return;
      }
      const finish = (error: Error | null, body?: unknown): void => {
        if (error === null) done(null, body);
        else done(new Problem('malformed_body', `The body is not JSON: ${error.message}.`, { cause: error }));
      };
      // What is thrown here is answered like what is handed to `done`.
      void parse(request, textOf(bytes, request.headers['content-type']), finish);
    },
  );
}

/** @throws {Problem} for text in another charset, and for bytes that are not what they are said to be */
function textOf(bytes: Buffer, contentType = ''): string {
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s;"]*)/gi)].map(([, name]) => name);
  if (charsets.some((name) => !/^utf-?8$/i.test(name ?? ''))) {
    throw new Problem('unsupported_media_type', 'Send JSON in the charset utf-8, the only one of JSON.');
  }
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    throw new Problem('malformed_body', 'The body is not valid UTF-8.', { cause });
  }
}
