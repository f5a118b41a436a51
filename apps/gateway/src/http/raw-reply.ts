import type { Duplex } from 'node:stream';
import { GATEWAY_HEADER } from '#upstream';
import type { Problem } from '../problems/problem.js';
import { PROBLEM_TYPE, PROBLEMS } from '../problems/problem-catalog.js';

/**
 * Writes a problem as an HTTP response to a raw socket and closes the connection.
 * @param path path of the request, if known
 */
export function endWithProblem(socket: Duplex, problem: Problem, requestId: string, path = '/'): void {
  const body = problem.toJson(path, requestId);
  const head = [
    `HTTP/1.1 ${problem.status} ${PROBLEMS[problem.code].title}`,
    `Content-Type: ${PROBLEM_TYPE}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `${GATEWAY_HEADER.name}: ${GATEWAY_HEADER.value}`,
    ...Object.entries(problem.headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`);
}
