import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { Problem } from '../problems/problem.js';

const callers = new WeakMap<FastifyRequest, Principal>();

/** Stores the owner of the API key of a request. */
export function rememberCaller(request: FastifyRequest, principal: Principal): void {
  callers.set(request, principal);
}

/** Returns the owner of the API key of a request, or undefined before authentication. */
export function callerOf(request: FastifyRequest): Principal | undefined {
  return callers.get(request);
}

/** Parameter decorator: passes the {@link Principal} of the request to a handler. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const caller = callerOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (caller === undefined)
    throw new Problem('unauthenticated', 'Send your API key in the X-API-Key header.');
  return caller;
});
