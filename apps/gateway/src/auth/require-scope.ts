import { applyDecorators } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import { type Scope, TOKEN_SCOPES } from '#accounts';

/**
 * What tokens may do at a route:
 *
 * - `contact`: The handler checks that the object belongs to a contact of the token, and otherwise answers 404.
 * - `filtered`: The handler leaves out what belongs to no contact of the token.
 * - `denied`: Tokens that are restricted to contacts get 403. Other tokens are allowed.
 * - `keys-only`: All tokens get 403.
 *
 * Tokens that are not restricted to contacts are treated like API keys, except by `keys-only`.
 */
export type TokenRule = 'contact' | 'filtered' | 'denied' | 'keys-only';

declare module 'fastify' {
  /** Access rules of a route. `authentication.ts` enforces them. */
  interface FastifyContextConfig {
    /** The caller needs one of these scopes. */
    scopes?: readonly Scope[];
    tokenRule?: TokenRule;
    isPublic?: true;
  }
}

/** Names of the security schemes in the OpenAPI document. */
export const SECURITY_SCHEMES = { apiKey: 'apiKey', token: 'bearerAuth' } as const;

/**
 * Declares the scope that a handler requires, and the rule for tokens. Under `/v1`, a handler without a scope rejects
 * every caller, and a handler without a rule rejects every token that is restricted to contacts.
 */
export const RequireScope = (scope: Scope, tokenRule: TokenRule = 'denied'): MethodDecorator =>
  RequireOneScope([scope], tokenRule);

/** Declares that a handler requires at least one of the given scopes, and the rule for tokens. */
export const RequireOneScope = (scopes: readonly Scope[], tokenRule: TokenRule): MethodDecorator => {
  const isForTokens = tokenRule !== 'keys-only' && scopes.some((scope) => isTokenScope(scope));
  const schemes = isForTokens ? Object.values(SECURITY_SCHEMES) : [];
  return applyDecorators(RouteConfig({ scopes, tokenRule }), ...schemes.map((scheme) => ApiSecurity(scheme)));
};

/** Declares that a handler needs no API key. It has no effect under `/v1`. */
export const Public = (): MethodDecorator => RouteConfig({ isPublic: true });

function isTokenScope(scope: Scope): boolean {
  return (TOKEN_SCOPES as readonly Scope[]).includes(scope);
}
