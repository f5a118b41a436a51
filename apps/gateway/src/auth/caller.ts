import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { Problem } from '../problems/problem.js';

const callers = new WeakMap<FastifyRequest, Principal>();

/** Notes whose key a request came with. */
export function rememberCaller(request: FastifyRequest, principal: Principal): void {
  callers.set(request, principal);
}

/** Whose key a request came with, once that is known. */
export function callerOf(request: FastifyRequest): Principal | undefined {
  return callers.get(request);
}

/** The {@link Principal} of the request, as a handler's parameter. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const caller = callerOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (caller === undefined) throw new Problem('unauthenticated', 'Send your API key as X-API-Key.');
  return caller;
});
