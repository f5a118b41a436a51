import { RouteConfig } from '@nestjs/platform-fastify';
import type { Scope } from '#accounts';

declare module 'fastify' {
  /** Access rules of a route. `authentication.ts` enforces them. */
  interface FastifyContextConfig {
    scope?: Scope;
    isPublic?: true;
  }
}

/** Declares the scope that a handler requires of an API key. Under `/v1`, a handler without a scope rejects every key. */
export const RequireScope = (scope: Scope): MethodDecorator => RouteConfig({ scope });

/** Declares that a handler needs no API key. It has no effect under `/v1`. */
export const Public = (): MethodDecorator => RouteConfig({ isPublic: true });
