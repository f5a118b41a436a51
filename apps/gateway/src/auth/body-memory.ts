import type { FastifyInstance, FastifyRequest } from 'fastify';
import { whenClosed } from '../http/disconnect-signal.js';
import { LIMITS } from '../http/limits.js';
import { isForm } from '../http/multipart.js';
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

/** Public routes have no caller. Their bodies count together, like those of an account. */
const NO_CALLER = { account: '' };

/**
 * Limits the size of all JSON bodies that the gateway holds at the same time, because many callers may send large
 * bodies slowly. A body counts from before it is read until its request ends. Small bodies do not count. Authentication
 * must run before, so that a caller without a key cannot use up the limits.
 */
export function limitBodyMemory(server: FastifyInstance): void {
  const slots = new CallerSlots(BODY_MEMORY_LIMITS);
  server.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = sizeOf(request);
    // The body of a form is not held in memory. A body above the limit of one body is rejected without being read.
    if (bytes > LIMITS.smallBodyBytes && bytes <= LIMITS.bodyBytes && !isForm(request)) {
      const slot = slots.acquire(callerOf(request) ?? NO_CALLER, bytes);
      if (!slot.acquired) throw noSlotProblem(slot.full, 'memory for JSON bodies');
      whenClosed(reply.raw, slot.release);
    }
    done(null, payload);
  });
}

/** Returns the size of a body in bytes. A body without a known size counts with the maximum size. */
function sizeOf({ headers }: FastifyRequest): number {
  return headers['transfer-encoding'] === undefined
    ? Number(headers['content-length'] ?? 0)
    : LIMITS.bodyBytes;
}
