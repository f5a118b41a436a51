import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Inject,
  Param,
  Post,
  Query,
  Req,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { ApiKeyRegistry, ListedApiKey, Principal } from '#accounts';
import type { Clock } from '#platform';
import { describeAudit } from '../audit/audit-details.js';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { isOperator, maySee } from '../auth/operator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { parseInstant } from '../input/instant.js';
import { invalid, notFound, Problem } from '../problems/problem.js';
import { ACCOUNT_REGISTRY, API_KEY_REGISTRY, CLOCK } from '../tokens.js';
import { ApiKeysQuery, ApiKeysReply, CreateApiKeyDto, CreatedApiKeyView } from './api-keys.dto.js';

const PERMISSIONS =
  'Admins of the account `default` can manage the API keys of all accounts. Admins of an account other than `default` can manage only the API keys of that account.';

@ApiTags('API keys')
@Controller('v1/api-keys')
export class ApiKeysController {
  constructor(
    @Inject(API_KEY_REGISTRY) private readonly keys: ApiKeyRegistry,
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: { find(id: string): Promise<object | undefined> },
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @RequireScope('admin')
  @Header('cache-control', 'no-store')
  @Audited('api-key.created')
  @ApiOperation({
    operationId: 'createApiKey',
    summary: 'Create an API key',
    description: `${PERMISSIONS} An admin of an account other than \`default\` can grant only the scopes that its own API key has. An API key that expires can create only API keys that expire at the same time or earlier.`,
  })
  @ApiCreatedResponse({ type: CreatedApiKeyView })
  @ApiProblems(
    'validation_failed',
    'malformed_body',
    'payload_too_large',
    'unsupported_media_type',
    'not_found',
    'conflict',
  )
  async create(
    @Caller() caller: Principal,
    @Body(new InputPipe(CreateApiKeyDto)) { account, name, scopes, expiresAt }: CreateApiKeyDto,
    @Req() request: FastifyRequest,
  ): Promise<ListedApiKey & { key: string }> {
    if (!maySee(caller, account)) throw notFound('account', account);
    const beyond = isOperator(caller) ? undefined : scopes.find((scope) => !caller.scopes.has(scope));
    if (beyond !== undefined) {
      throw new Problem(
        'forbidden',
        `The API key cannot grant the scope ${beyond}, because it does not have that scope itself.`,
      );
    }
    const end = parseInstant(expiresAt);
    if (end !== undefined && end <= this.clock.now())
      throw invalid({ field: 'expiresAt', message: 'must be in the future' });
    // Not read from the registry: the key of the caller may have been revoked after the request began.
    const ownEnd = caller.expiresAt;
    if (ownEnd !== undefined && (end === undefined || end > ownEnd)) {
      throw new Problem(
        'forbidden',
        `The new API key must not expire later than the API key of the caller. Set \`expiresAt\` to ${new Date(ownEnd).toISOString()} or earlier.`,
      );
    }
    const wanted = { account, name, scopes, ...(end === undefined ? {} : { expiresAt: end }) };
    const created = await this.keys.create(wanted);
    if (created === undefined) throw notFound('account', account);
    describeAudit(request, { account });
    return { ...created.apiKey, lastUsedAt: null, key: created.key };
  }

  @Get()
  @RequireScope('admin')
  @ApiOperation({
    operationId: 'listApiKeys',
    summary: 'List the API keys, without their secret values',
    description: PERMISSIONS,
  })
  @ApiOkResponse({ type: ApiKeysReply })
  @ApiProblems('validation_failed', 'not_found')
  async list(
    @Caller() caller: Principal,
    @Query(new InputPipe(ApiKeysQuery)) { account }: ApiKeysQuery,
  ): Promise<{ apiKeys: ListedApiKey[] }> {
    if (account !== undefined) {
      const known = maySee(caller, account) && (await this.accounts.find(account)) !== undefined;
      if (!known) throw notFound('account', account);
    }
    const wanted = account ?? (isOperator(caller) ? undefined : caller.account);
    return { apiKeys: await this.keys.list(wanted) };
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('admin')
  @Audited('api-key.revoked')
  @ApiOperation({
    operationId: 'deleteApiKey',
    summary: 'Revoke an API key',
    description: `The API key and the tokens that it created stop working immediately at every gateway. Event streams and long polls that use them are ended. ${PERMISSIONS}`,
  })
  @ApiNoContentResponse({ description: 'The API key no longer works.' })
  @ApiProblems('not_found', 'conflict')
  async remove(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Req() request: FastifyRequest,
  ): Promise<void> {
    const key = await this.keys.find(id);
    if (key === undefined || !maySee(caller, key.account) || !(await this.keys.remove(id))) {
      throw notFound('API key', id);
    }
    describeAudit(request, { account: key.account });
  }
}
