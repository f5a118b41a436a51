import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import type { Logger } from '#platform';
import { isRecord } from '#upstream';
import { callerOf } from '../auth/caller.js';
import { LOGGER } from '../tokens.js';

/** Metadata of a handler: its action. */
export const AUDITED = 'tidings:audited';

/** Actions on accounts, API keys, tokens, sessions and webhooks that the audit log records. */
export type AuditedAction =
  | `account.${'created' | 'changed' | 'removed' | 'deletions-confirmed'}`
  | `api-key.${'created' | 'revoked'}`
  | `session.${'created' | 'ended'}`
  | `token.${'created' | 'revoked'}`
  | `webhook.${'created' | 'changed' | 'removed' | 'secret-read' | 'secret-rotated'}`;

/** Actions whose request body was validated. The field names of any other body are unchecked and must not be logged. */
const HAS_FIELDS = /[.-](created|changed|rotated)$/;

/**
 * Writes one log line for each audited action on API keys, tokens, sessions, accounts and webhooks. The line has the action, its subject,
 * the account and API key of the caller, the request id and the names of the given fields, but no values. It is
 * written at every LOG_LEVEL except `silent`.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  private readonly log: Logger;

  constructor(
    @Inject(LOGGER) logger: Logger,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    this.log = logger.child({}, { level: logger.level === 'silent' ? 'silent' : 'info' });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const action = this.reflector.get<AuditedAction | undefined>(AUDITED, context.getHandler());
    if (action === undefined) throw new Error('The handler declares no audited action.');
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return next.handle().pipe(
      tap((result: unknown) => {
        const caller = callerOf(request);
        this.log.info(
          {
            action,
            subject: subjectOf(request, result),
            account: caller?.account,
            keyId: caller?.keyId,
            requestId: request.id,
            fields: HAS_FIELDS.test(action) && isRecord(request.body) ? Object.keys(request.body).sort() : [],
          },
          'audit',
        );
      }),
    );
  }
}

/** Returns the id in the path, or else the id of the created object. */
function subjectOf({ params }: FastifyRequest, result: unknown): string | undefined {
  const id = (isRecord(params) ? params.id : undefined) ?? (isRecord(result) ? result.id : undefined);
  return typeof id === 'string' ? id : undefined;
}
