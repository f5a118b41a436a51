import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';
import { LIMITS } from './limits.js';
import { endWith } from './raw-reply.js';
import { requestIdOf } from './request-id.js';

/** The caller may not send the body it announced, so nothing more can be read from its connection. */
const HANG_UP = { connection: 'close' };

/** Answers in our form what Node would answer by itself, bare, or not at all. */
export function useUnusualRequests(server: FastifyInstance): void {
  const http: Server = server.server;
  const unmet = new WeakSet<IncomingMessage>();
  // Passed on like any request, so that it gets its id, its line in the log, and its refusal from the hook.
  http.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmet.add(request);
    http.emit('request', request, response);
  });
  http.on('connect', refuseTunnel);
  server.addHook('onRequest', async ({ raw }) => {
    if (unmet.has(raw)) {
      const detail = 'Expect may only be 100-continue.';
      throw new Problem('expectation_failed', detail, { headers: HANG_UP });
    }
    // HTTP/1.0 knows no Host.
    if (raw.headers.host === undefined && raw.httpVersion !== '1.0') {
      throw new Problem('malformed_body', 'The header Host is missing.', { headers: HANG_UP });
    }
    await Promise.resolve();
  });
}

/** The server watches neither the errors nor the silence of a connection that was to become a tunnel. */
function refuseTunnel(request: IncomingMessage, socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LIMITS.hangUpMs);
  socket.once('close', () => {
    clearTimeout(cut);
  });
  socket.on('error', () => socket.destroy());
  socket.resume();
  const problem = new Problem('method_not_allowed', 'This is no proxy.', { headers: { allow: '' } });
  endWith(socket, problem, requestIdOf(request));
}
