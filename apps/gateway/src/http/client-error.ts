import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { newId } from '#platform';
import { Problem } from '../problems/problem.js';
import { pathOf } from './request-path.js';
import { LIMITS } from './limits.js';
import { endWithProblem } from './raw-reply.js';

/** Answers an invalid or too slow HTTP request with problem+json and closes the connection. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // The connection is broken, so that no response can be sent. Node reports this error twice.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  endWithProblem(socket, describe(error.code), newId('req'));
}

/** Answers a request whose body arrives too slowly and closes the connection, even if the caller reads nothing. */
export function rejectSlowBody({
  id,
  url,
  raw: { socket },
}: Pick<FastifyRequest, 'id' | 'url' | 'raw'>): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  endWithProblem(socket, describe('ERR_HTTP_REQUEST_TIMEOUT'), id, pathOf(url));
  const late = setTimeout(() => socket.destroy(), LIMITS.hangUpMs);
  socket.once('close', () => {
    clearTimeout(late);
  });
}

function describe(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('payload_too_large', 'The request headers exceed the size limit.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('malformed_body', 'The complete request did not arrive in time.');
    case undefined:
    default:
      return new Problem('malformed_body', 'The request is not valid HTTP/1.1.');
  }
}
