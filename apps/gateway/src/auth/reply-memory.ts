import type { FastifyInstance } from 'fastify';
import { whenClosed } from '../http/disconnect-signal.js';
import { LIMITS } from '../http/limits.js';
import { callerOf } from './caller.js';
import { type CallerLimits, CallerSlots, noSlotProblem } from './caller-slots.js';

const MIB = 1_048_576;

/** Limits of {@link limitReplyMemory}, in bytes. */
export const REPLY_MEMORY_LIMITS: CallerLimits = {
  max: 256 * MIB,
  maxPerAccount: 192 * MIB,
  maxPerAccountForTokens: 64 * MIB,
  maxPerToken: 16 * MIB,
};

/**
 * Limits the size of all responses that the gateway holds at the same time, because many callers may request large
 * responses and read them slowly or not at all. A response counts until it was sent. Small responses and streams do
 * not count, nor do responses to requests that change something, because an error would say that nothing was changed.
 * A response that is larger than the limit of its caller counts as much as the limit, so a caller with no other large
 * response always gets it.
 *
 * Authentication must run first.
 */
export function limitReplyMemory(server: FastifyInstance): void {
  const slots = new CallerSlots(REPLY_MEMORY_LIMITS);
  server.addHook('onSend', (request, reply, payload, done) => {
    const caller = callerOf(request);
    const bytes = sizeOf(payload);
    if (request.method !== 'GET' || caller === undefined || bytes <= LIMITS.smallReplyBytes) {
      done(null, payload);
      return;
    }
    const { maxPerToken, maxPerAccount } = REPLY_MEMORY_LIMITS;
    const slot = slots.acquire(
      caller,
      Math.min(bytes, caller.tokenId === undefined ? maxPerAccount : maxPerToken),
    );
    if (!slot.acquired) {
      // This header belongs to the response that is not sent.
      reply.removeHeader('age');
      done(noSlotProblem(slot.reachedLimit, 'memory for responses that callers have not read yet'));
      return;
    }
    whenClosed(reply.raw, slot.release);
    done(null, payload);
  });
}

/** Returns the size of a response in bytes, or 0 for a stream. */
function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  return Buffer.isBuffer(payload) ? payload.length : 0;
}
