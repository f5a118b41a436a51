import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';
import { LIMITS } from './limits.js';

/**
 * Reads JSON bodies and nothing else: any other type is answered 415, but for the multipart bodies of sends.
 * An empty body counts as none, as many clients name the type on every request.
 */
export function useJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: LIMITS.body },
    (request, text, done) => {
      if (text.length === 0) {
        done(null, undefined);
        return;
      }
      const finish = (error: Error | null, body?: unknown): void => {
        if (error === null) done(null, body);
        else done(new Problem('malformed_body', `The body is not JSON: ${error.message}.`, { cause: error }));
      };
      void parse(request, text.toString(), finish);
    },
  );
}
