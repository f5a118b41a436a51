import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';
import { LIMITS } from './limits.js';
import { endWithProblem } from './raw-reply.js';
import { requestIdOf } from './request-id.js';

/** Closes the connection after the response: an announced body may never arrive, so no further request can be read. */
const HANG_UP = { connection: 'close' };

/** Answers with problem+json the requests that Node would answer without a body or not at all. */
export function useUnusualRequests(server: FastifyInstance): void {
  const http: Server = server.server;
  const unmet = new WeakSet<IncomingMessage>();
  // Handled as a normal request, so that it gets an id, a log line, and its rejection from the hook below.
  http.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmet.add(request);
    http.emit('request', request, response);
  });
  http.on('connect', refuseTunnel);
  server.addHook('onRequest', ({ raw }, _, done) => {
    if (unmet.has(raw)) {
      const detail = 'The gateway supports only the value 100-continue in the Expect header.';
      throw new Problem('expectation_failed', detail, { headers: HANG_UP });
    }
    // HTTP/1.0 has no Host header.
    if (raw.headers.host === undefined && raw.httpVersion !== '1.0') {
      throw new Problem('malformed_body', 'The Host header is missing.', { headers: HANG_UP });
    }
    done();
  });
}

/** Rejects a CONNECT request. The server handles neither errors nor timeouts of its socket, so this function does. */
function refuseTunnel(request: IncomingMessage, socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LIMITS.hangUpMs);
  socket.once('close', () => {
    clearTimeout(cut);
  });
  socket.on('error', () => socket.destroy());
  socket.resume();
  const problem = new Problem('method_not_allowed', 'The gateway does not support CONNECT requests.', {
    headers: { allow: '' },
  });
  endWithProblem(socket, problem, requestIdOf(request));
}
