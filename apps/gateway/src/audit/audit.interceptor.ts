import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { mergeMap, type Observable } from 'rxjs';
import type { AuditEntry, AuditLog, Principal } from '#accounts';
import { type Clock, isRecord, type Logger, newId, withDeadline } from '#platform';
import { callerOf } from '../auth/caller.js';
import { AUDIT_LOG, CLOCK, LOGGER } from '../tokens.js';
import { auditDetailsOf } from './audit-details.js';
import { type AuditedAction, categoryOf, hasCheckedFields } from './audited-action.js';

/** Metadata of a handler: its action. */
export const AUDITED = 'tidings:audited';

/**
 * Maximum time for which the reply to an action waits until the audit log entry is stored, in milliseconds. A reply
 * takes at most two seconds while Redis is unavailable, and the action itself may have used most of that time.
 */
const STORE_TIMEOUT_MS = 500;

/**
 * Records each audited action that succeeded: as a log line, and in the audit log of the caller's account. If the
 * action affected another account, the audit log of that account gets the same entry. An entry contains the names of
 * the fields in the request body, but not their values. The log line is written at every LOG_LEVEL except `silent`.
 * The entry is stored before the reply. If it cannot be stored, the action has already been executed, so the failure
 * is only logged.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  private readonly log: Logger;

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(AUDIT_LOG) private readonly auditLog: Pick<AuditLog, 'append'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.log = logger.child({}, { level: logger.level === 'silent' ? 'silent' : 'info' });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const action = this.reflector.get<AuditedAction | undefined>(AUDITED, context.getHandler());
    if (action === undefined) throw new Error('The route handler has no @Audited decorator.');
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return next.handle().pipe(
      mergeMap(async (result: unknown) => {
        await this.record(action, request, result);
        return result;
      }),
    );
  }

  /** Never rejects. */
  private async record(action: AuditedAction, request: FastifyRequest, result: unknown): Promise<void> {
    const caller = callerOf(request);
    const { account, subjects } = auditDetailsOf(request);
    if (caller === undefined || subjects?.length === 0) return;
    const done = {
      action,
      subject: subjects === undefined ? subjectOf(request, result) : null,
      ...(subjects === undefined ? {} : { subjects: [...subjects] }),
      ...identityOf(caller),
      requestId: request.id,
      fields: hasCheckedFields(action) && isRecord(request.body) ? Object.keys(request.body).sort() : [],
    };
    this.log.info(done, 'action.audited');
    const entry = { id: newId('aud'), at: new Date(this.clock.now()).toISOString(), ...done };
    await this.store(entry, action, new Set([caller.account, account ?? caller.account]));
  }

  private async store(
    entry: AuditEntry,
    action: AuditedAction,
    accounts: ReadonlySet<string>,
  ): Promise<void> {
    try {
      const stored = [...accounts].map((account) => this.auditLog.append(account, entry, categoryOf(action)));
      await withDeadline(Promise.all(stored), STORE_TIMEOUT_MS, 'the write to the audit log');
    } catch (error) {
      const { requestId } = entry;
      this.logger.error({ action, requestId, err: error }, 'the entry of the audit log was not stored');
    }
  }
}

function identityOf({
  account,
  keyId,
  tokenId,
}: Principal): Pick<AuditEntry, 'account' | 'keyId' | 'tokenId'> {
  return { account, keyId, ...(tokenId === undefined ? {} : { tokenId }) };
}

/** Returns the id in the path, or else the id of the created object. */
function subjectOf({ params }: FastifyRequest, result: unknown): string | null {
  const id = (isRecord(params) ? params.id : undefined) ?? (isRecord(result) ? result.id : undefined);
  return typeof id === 'string' ? id : null;
}
