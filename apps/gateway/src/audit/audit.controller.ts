import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { AuditLog, Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { maySee } from '../auth/operator.js';
import { RequireScope } from '../auth/require-scope.js';
import { InputPipe } from '../input/input.pipe.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound } from '../problems/problem.js';
import { ACCOUNT_REGISTRY, AUDIT_LOG } from '../tokens.js';
import { AuditQuery, AuditReply, cursorAt, positionIn } from './audit.dto.js';

@ApiTags('Audit log')
@Controller('v1/audit')
export class AuditController {
  constructor(
    @Inject(AUDIT_LOG) private readonly auditLog: Pick<AuditLog, 'read'>,
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: { find(id: string): Promise<object | undefined> },
  ) {}

  @Get()
  @RequireScope('admin')
  @ApiOperation({
    operationId: 'listAuditEntries',
    summary: 'List the entries of the audit log, newest first',
    description:
      'An entry is recorded when an account, API key, token or webhook is created, changed or removed, when a session of the web console begins or ends, when an admin confirms that contacts and messages were deleted at the messaging service, when a signing secret is read or rotated, when events are replayed, and when sends are cancelled or resolved. ' +
      'An action of an admin of the account `default` on another account is recorded in the audit logs of both accounts. ' +
      'Entries are kept for at most 90 days. Each audit log keeps at most 1,000 entries about accounts and API keys, 1,000 about webhooks, and 1,000 about sessions, tokens and sends.',
  })
  @ApiOkResponse({ type: AuditReply })
  @ApiProblems('validation_failed', 'not_found')
  async list(
    @Caller() caller: Principal,
    @Query(new InputPipe(AuditQuery)) { account = caller.account, cursor, limit }: AuditQuery,
  ): Promise<AuditReply> {
    if (account !== caller.account) {
      const isKnown = maySee(caller, account) && (await this.accounts.find(account)) !== undefined;
      if (!isKnown) throw notFound('account', account);
    }
    const { entries, next } = await this.auditLog.read(account, Number(limit), positionIn(cursor));
    return { entries, next: next === undefined ? null : cursorAt(next) };
  }
}
