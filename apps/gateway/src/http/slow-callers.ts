import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectSlowBody } from './client-error.js';
import { LIMITS } from './limits.js';
import { isForm } from './multipart.js';

/** Timeouts for slow callers, in milliseconds. */
export interface SlowCallerLimits {
  /** Timeout for a body that is not a multipart form. */
  bodyMs: number;
  /** Period in which an upload must deliver `paceBytes`. */
  paceMs: number;
  /** Minimum number of bytes of an upload per `paceMs`. */
  paceBytes: number;
  /** Timeout for the caller to read a response. */
  responseMs: number;
}

const DEFAULTS: SlowCallerLimits = {
  bodyMs: LIMITS.bodyMs,
  paceMs: LIMITS.paceMs,
  paceBytes: LIMITS.paceBytes,
  responseMs: LIMITS.responseMs,
};

/** Disconnects callers that send a body or read a response too slowly. Event streams have their own timeout. */
export function useSlowCallers(server: FastifyInstance, limits: SlowCallerLimits = DEFAULTS): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) watchBody(request, reply.raw, limits);
    done();
  });
  server.addHook('onSend', (_, reply, payload, done) => {
    // If the caller has disconnected already, `close` is not emitted again.
    if (!reply.raw.closed) {
      const late = setTimeout(() => reply.raw.destroy(), limits.responseMs).unref();
      reply.raw.once('close', () => {
        clearTimeout(late);
      });
    }
    done(null, payload);
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function watchBody(request: FastifyRequest, response: ServerResponse, limits: SlowCallerLimits): void {
  const { raw } = request;
  const disconnect = (): void => {
    // A response that has begun cannot be replaced by an error.
    if (response.headersSent) raw.socket.destroy();
    else rejectSlowBody(request);
  };
  const stop = isForm(request)
    ? watchPace(raw, limits, disconnect)
    : watchDeadline(raw, limits.bodyMs, disconnect);
  raw.once('end', stop);
  raw.once('close', stop);
}

function watchDeadline(request: IncomingMessage, ms: number, disconnect: () => void): () => void {
  const late = setTimeout(() => {
    if (!request.complete) disconnect();
  }, ms).unref();
  return () => {
    clearTimeout(late);
  };
}

function watchPace(
  request: IncomingMessage,
  { paceMs, paceBytes }: SlowCallerLimits,
  disconnect: () => void,
): () => void {
  const { socket } = request;
  let before = socket.bytesRead;
  const check = setInterval(() => {
    const received = socket.bytesRead - before;
    before = socket.bytesRead;
    // Unread bytes in the buffer mean that the gateway is slow, not the caller.
    if (received < paceBytes && request.readableLength === 0 && !request.complete) disconnect();
  }, paceMs).unref();
  return () => {
    clearInterval(check);
  };
}
