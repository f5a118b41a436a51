import type { Socket } from 'node:net';
import { newId } from '#platform';
import { Problem } from '../problems/problem.js';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from '../problems/problem-catalog.js';

/** Answers what is no HTTP request, or comes too slowly, in the form of every other error; then hangs up. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // Node gives the same error twice where a broken connection is at fault: nobody is there to be answered.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { code, detail } = describe(error.code);
  const { status, title } = PROBLEMS[code];
  const requestId = newId('req');
  const body = new Problem(code, detail).toJson('/', requestId);
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    `Content-Type: ${PROBLEM_TYPE}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`);
}

function describe(code: string | undefined): { code: ProblemCode; detail: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'payload_too_large', detail: 'The headers are larger than are read here.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'malformed_body', detail: 'The request did not arrive in time.' };
    case undefined:
    default:
      return { code: 'malformed_body', detail: 'This is not an HTTP/1.1 request.' };
  }
}
