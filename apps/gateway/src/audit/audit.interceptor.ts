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
import { AUDITED, type AuditedAction } from './audited.js';

/** What reads its body, and knows each name in it; of any other's body nothing is known. */
const HAS_FIELDS = /[.-](created|changed|rotated)$/;

/**
 * One line for each change of keys, accounts and endpoints: what was done to what, by which key of which account, in
 * which request, and which fields were given; never what they hold. Written at every LOG_LEVEL but `silent`.
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
    if (action === undefined) return next.handle();
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

/** The id in the address, or of what was made. */
function subjectOf({ params }: FastifyRequest, result: unknown): string | undefined {
  const id = (isRecord(params) ? params.id : undefined) ?? (isRecord(result) ? result.id : undefined);
  return typeof id === 'string' ? id : undefined;
}
