import { RouteConfig } from '@nestjs/platform-fastify';
import type { Scope } from '#accounts';

declare module 'fastify' {
  /** What a route says about who may use it; see `authentication.ts`. */
  interface FastifyContextConfig {
    scope?: Scope;
    isPublic?: true;
  }
}

/** The scope that a caller's key must have. A handler without it is closed to everyone. */
export const RequireScope = (scope: Scope): MethodDecorator => RouteConfig({ scope });

/** Needs no key. Counts for nothing under `/v1`. */
export const Public = (): MethodDecorator => RouteConfig({ isPublic: true });
