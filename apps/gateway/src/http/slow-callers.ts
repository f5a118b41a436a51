import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cutOff } from './client-error.js';
import { LIMITS } from './limits.js';

/** How long a slow caller is borne with. Times in milliseconds. */
export interface Patience {
  /** A body that is no upload has to be there by then. */
  bodyMs: number;
  /** Of an upload, so many bytes have to come in every so long. */
  paceMs: number;
  paceBytes: number;
  /** A reply has to be taken by then. */
  takeMs: number;
}

const PATIENCE: Patience = {
  bodyMs: LIMITS.bodyMs,
  paceMs: LIMITS.paceMs,
  paceBytes: LIMITS.paceBytes,
  takeMs: LIMITS.takeMs,
};

/** Cuts off whoever sends a body, or takes a reply, so slowly that it is no honest caller. Streams see to themselves. */
export function useSlowCallers(server: FastifyInstance, patience: Patience = PATIENCE): void {
  server.addHook('onRequest', async (request, reply) => {
    if (hasBody(request)) watchBody(request, reply.raw, patience);
    await Promise.resolve();
  });
  server.addHook('onSend', async (_, reply) => {
    const late = setTimeout(() => reply.raw.destroy(), patience.takeMs);
    reply.raw.once('close', () => {
      clearTimeout(late);
    });
    await Promise.resolve();
  });
}

/** Whether the body is a form, which may be an upload. */
export function isForm({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return /^\s*multipart\//i.test(headers['content-type'] ?? '');
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function watchBody(request: FastifyRequest, response: ServerResponse, patience: Patience): void {
  const { raw } = request;
  const cut = (): void => {
    // Who was answered already is told nothing more.
    if (response.headersSent) raw.socket.destroy();
    else cutOff(request);
  };
  const stop = isForm(request) ? watchPace(raw, patience, cut) : watchDeadline(raw, patience.bodyMs, cut);
  raw.once('end', stop);
  raw.once('close', stop);
}

function watchDeadline(request: IncomingMessage, ms: number, cut: () => void): () => void {
  const late = setTimeout(() => {
    if (!request.complete) cut();
  }, ms);
  return () => {
    clearTimeout(late);
  };
}

function watchPace(request: IncomingMessage, { paceMs, paceBytes }: Patience, cut: () => void): () => void {
  const { socket } = request;
  let before = socket.bytesRead;
  const look = setInterval(() => {
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    // What waits here to be read is not the caller's delay.
    if (came < paceBytes && request.readableLength === 0 && !request.complete) cut();
  }, paceMs);
  return () => {
    clearInterval(look);
  };
}
