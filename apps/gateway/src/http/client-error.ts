import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { newId } from '#platform';
import { Problem } from '../problems/problem.js';
import { pathOf } from '../problems/problem.filter.js';
import { LIMITS } from './limits.js';
import { endWith } from './raw-reply.js';

/** Answers what is no HTTP request, or comes too slowly, in the form of every other error; then hangs up. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // Node gives the same error twice where a broken connection is at fault: nobody is there to be answered.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  endWith(socket, describe(error.code), newId('req'));
}

/** Tells a caller whose body does not come that it is too slow, and hangs up, whether it reads that or not. */
export function cutOff({ id, url, raw: { socket } }: Pick<FastifyRequest, 'id' | 'url' | 'raw'>): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  endWith(socket, describe('ERR_HTTP_REQUEST_TIMEOUT'), id, pathOf(url));
  const late = setTimeout(() => socket.destroy(), LIMITS.hangUpMs);
  socket.once('close', () => {
    clearTimeout(late);
  });
}

function describe(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('payload_too_large', 'The headers are larger than are read here.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('malformed_body', 'The request did not arrive in time.');
    case undefined:
    default:
      return new Problem('malformed_body', 'This is not an HTTP/1.1 request.');
  }
}
