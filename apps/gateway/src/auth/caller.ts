import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { Problem } from '../problems/problem.js';
import { CREDENTIAL_MISSING } from './authenticator.js';

const callers = new WeakMap<FastifyRequest, Principal>();

/** Stores the caller of a request: the owner of its API key, token or session. */
export function rememberCaller(request: FastifyRequest, principal: Principal): void {
  callers.set(request, principal);
}

/** Returns the caller of a request, or undefined before authentication. */
export function callerOf(request: FastifyRequest): Principal | undefined {
  return callers.get(request);
}

/** Parameter decorator: passes the {@link Principal} of the request to a handler. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const caller = callerOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (caller === undefined) throw new Problem('unauthenticated', CREDENTIAL_MISSING);
  return caller;
});
