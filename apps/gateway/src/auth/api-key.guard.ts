import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { ApiKeys, Scope } from '#accounts';
import { Problem } from '../problems/problem.js';
import { API_KEYS } from '../tokens.js';
import { rememberCaller } from './caller.js';
import { PUBLIC, REQUIRED_SCOPE } from './require-scope.js';

/** Lets in whom the key in `X-API-Key` allows, and nobody to a handler that declares neither a scope nor that it is public. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    @Inject(API_KEYS) private readonly keys: ApiKeys,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const targets = [context.getHandler(), context.getClass()];
    const isPublic = this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC, targets) === true;
    if (isPublic && !isVersioned(request)) return true;

    const key = request.headers['x-api-key'];
    if (typeof key !== 'string' || key === '') {
      throw new Problem('unauthenticated', 'Send your API key in the header X-API-Key.');
    }
    const principal = await this.keys.authenticate(key);
    if (principal === undefined) throw new Problem('unauthenticated', 'Nobody has this API key.');
    rememberCaller(request, principal);

    const scope = this.reflector.get<Scope | undefined>(REQUIRED_SCOPE, context.getHandler());
    if (scope === undefined) throw new Problem('forbidden', 'No API key opens this address.');
    if (!principal.scopes.has(scope)) throw new Problem('forbidden', `The API key lacks the scope ${scope}.`);
    return true;
  }
}

function isVersioned(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? request.url;
  return route === '/v1' || route.startsWith('/v1/');
}
