import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { whenClosed } from '../http/disconnect-signal.js';
import { LIMITS } from '../http/limits.js';
import { isForm } from '../http/multipart.js';
import { Problem } from '../problems/problem.js';
import { callerOf } from './caller.js';
import { type CallerLimits, CallerSlots, noSlotProblem } from './caller-slots.js';

const MIB = 1_048_576;

/** Limits of {@link limitBodyMemory}, in bytes. */
const BODY_MEMORY_LIMITS: CallerLimits = {
  max: 128 * MIB,
  maxPerAccount: 96 * MIB,
  maxPerAccountForTokens: 24 * MIB,
  maxPerToken: 6 * MIB,
};

/** Fastify does not read the body of a request with one of these methods. */
const METHODS_WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

/**
 * Limits the size of all JSON bodies that the gateway holds at the same time, because many callers may send large
 * bodies slowly. A body counts from before it is read until its request ends. Small bodies do not count. A body of
 * unknown size counts with the maximum size as soon as it is no longer small.
 *
 * Authentication must run first. A public route authenticates no caller before the body is read, so its bodies must
 * be small: a caller without a key cannot use up the limits.
 */
export function limitBodyMemory(server: FastifyInstance): void {
  const slots = new CallerSlots(BODY_MEMORY_LIMITS);
  /** @throws {Problem} if the caller, its account or the gateway has reached its limit, or the request has no caller */
  const hold = (request: FastifyRequest, reply: FastifyReply, bytes: number): void => {
    const caller = callerOf(request);
    if (caller === undefined) {
      const detail = `The request body exceeds the size limit of ${LIMITS.smallBodyBytes} bytes for a request that is not authenticated yet.`;
      throw new Problem('payload_too_large', detail);
    }
    const slot = slots.acquire(caller, bytes);
    if (!slot.acquired) throw noSlotProblem(slot.reachedLimit, 'memory for JSON request bodies');
    whenClosed(reply.raw, slot.release);
  };
  server.addHook('preParsing', (request, reply, payload, done) => {
    const { 'transfer-encoding': transferEncoding, 'content-length': length } = request.headers;
    // The body of a form is not held in memory.
    if (METHODS_WITHOUT_BODY.has(request.method) || isForm(request)) done(null, payload);
    else if (transferEncoding !== undefined) {
      const holdLargest = (): void => {
        hold(request, reply, LIMITS.bodyBytes);
      };
      const body = Readable.from(chunksOf(request.raw, holdLargest));
      // Fastify removes its listeners from a body that is too large. An error after that must not end the process.
      body.on('error', () => undefined);
      done(null, body);
    } else {
      const bytes = Number(length ?? 0);
      // A body above the limit of one body is rejected without being read.
      if (bytes > LIMITS.smallBodyBytes && bytes <= LIMITS.bodyBytes) hold(request, reply, bytes);
      done(null, payload);
    }
  });
}

/** Reads a body, and calls the function once if it is not small. An error of the function ends the body. */
async function* chunksOf(body: Readable, whenLarge: () => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  let isLarge = false;
  try {
    // The request must not be destroyed, because its connection is needed for the response.
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (!isLarge && bytes > LIMITS.smallBodyBytes) {
        isLarge = true;
        whenLarge();
      }
      yield chunk;
    }
  } finally {
    // Discards what the caller still sends. The connection is closed after an error. Closing it with unread data
    // would reset it, and the caller could lose the response.
    body.resume();
  }
}
