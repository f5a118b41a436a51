import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountDescription, AccountRegistry, Principal } from '#accounts';
import type { FeedStore } from '#feed';
import type { GatewayEnvironment } from '#platform';
import { describeAudit } from '../audit/audit-details.js';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { isOperator, maySee } from '../auth/operator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { givenFields, InputPipe } from '../input/input.pipe.js';
import { notFound, Problem } from '../problems/problem.js';
import { ACCOUNT_REGISTRY, ENVIRONMENT, FEED } from '../tokens.js';
import { AccountsReply, AccountView, ChangeAccountDto, CreateAccountDto } from './accounts.dto.js';

/** The part of the feed that confirms deletions. */
export type DeletionConfirmer = Pick<FeedStore, 'confirmDeletions'>;

const PERMISSIONS =
  'An API key with the scope `admin` can see its own account. An API key of the account `default` with the scope `admin` can see all accounts, add accounts, and change and delete all accounts except those from environment variables.';

@ApiTags('Accounts')
@Controller('v1/accounts')
export class AccountsController {
  constructor(
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: AccountRegistry,
    @Inject(FEED) private readonly feed: DeletionConfirmer,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
  ) {}

  @Post()
  @RequireScope('admin')
  @Audited('account.created')
  @ApiOperation({
    operationId: 'createAccount',
    summary: 'Add an account of the messaging service',
    description: `Within seconds, Tidings relays the sends of the account and, if \`polling\` is true, starts to poll the account. ${PERMISSIONS}`,
  })
  @ApiCreatedResponse({
    type: AccountView,
    headers: {
      Location: {
        description: 'URL path of the new account: `/v1/accounts/{id}`.',
        schema: { type: 'string' },
      },
    },
  })
  @ApiProblems(
    'validation_failed',
    'malformed_body',
    'payload_too_large',
    'unsupported_media_type',
    'conflict',
  )
  async create(
    @Caller() caller: Principal,
    @Body(new InputPipe(CreateAccountDto)) body: CreateAccountDto,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountDescription> {
    if (!isOperator(caller)) throw onlyOperators();
    const { id, apiKey, polling } = body;
    const requestsPerSecond = body.requestsPerSecond ?? this.environment.UPSTREAM_REQUESTS_PER_SECOND;
    const baseUrl = withoutSlash(body.baseUrl);
    const account = await this.accounts.create({ id, baseUrl, apiKey, requestsPerSecond, polling });
    describeAudit(request, { account: account.id });
    reply.header('location', `/v1/accounts/${account.id}`);
    return account;
  }

  @Get()
  @RequireScope('admin')
  @ApiOperation({ operationId: 'listAccounts', summary: 'List the accounts', description: PERMISSIONS })
  @ApiOkResponse({ type: AccountsReply })
  @ApiProblems()
  async list(@Caller() caller: Principal): Promise<{ accounts: AccountDescription[] }> {
    if (isOperator(caller)) return { accounts: await this.accounts.list() };
    const own = await this.accounts.find(caller.account);
    return { accounts: own === undefined ? [] : [own] };
  }

  @Get(':id')
  @RequireScope('admin')
  @ApiOperation({ operationId: 'getAccount', summary: 'Get an account', description: PERMISSIONS })
  @ApiOkResponse({ type: AccountView })
  @ApiProblems('not_found')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<AccountDescription> {
    const account = maySee(caller, id) ? await this.accounts.find(id) : undefined;
    if (account === undefined) throw notFound('account', id);
    return account;
  }

  @Patch(':id')
  @RequireScope('admin')
  @Audited('account.changed')
  @ApiOperation({
    operationId: 'changeAccount',
    summary: 'Update an account',
    description: `Fields that the request omits keep their current values. The new settings take effect in every process within seconds. If the new \`baseUrl\` has a different origin than the current \`baseUrl\`, the request must also contain a new \`apiKey\`. ${PERMISSIONS}`,
  })
  @ApiOkResponse({ type: AccountView })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body', 'unsupported_media_type')
  async change(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(ChangeAccountDto)) body: ChangeAccountDto,
    @Req() request: FastifyRequest,
  ): Promise<AccountDescription> {
    mayChange(caller, id);
    const { baseUrl, ...rest } = givenFields(body);
    const changes = { ...rest, ...(baseUrl === undefined ? {} : { baseUrl: withoutSlash(baseUrl) }) };
    const account = await this.accounts.change(id, changes);
    if (account === undefined) throw notFound('account', id);
    describeAudit(request, { account: id });
    return account;
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('admin')
  @Audited('account.removed')
  @ApiOperation({
    operationId: 'deleteAccount',
    summary: 'Delete an account with its API keys and data',
    description: `The API keys of the account stop working immediately, and Tidings stops polling the account. The data of the account is deleted within minutes. ${PERMISSIONS}`,
  })
  @ApiNoContentResponse({ description: 'The account no longer exists.' })
  @ApiProblems('not_found', 'conflict')
  async remove(@Caller() caller: Principal, @Param('id') id: string): Promise<void> {
    mayChange(caller, id);
    if (!(await this.accounts.remove(id))) throw notFound('account', id);
  }

  @Post(':id/confirm-deletions')
  @HttpCode(204)
  @RequireScope('admin')
  @Audited('account.deletions-confirmed')
  @ApiOperation({
    operationId: 'confirmDeletions',
    summary: 'Confirm that contacts and messages were deleted at the messaging service',
    description:
      'An `account.suspect` event means that many contacts or messages disappeared from the messaging service at once, and that Tidings emitted no events for their deletion. ' +
      'After this confirmation, Tidings emits events for the deletion of all contacts and messages that are still missing when Tidings next reads all contacts and messages.',
  })
  @ApiNoContentResponse({
    description:
      'The confirmation of the deletions is stored. At the next read of all contacts and messages, Tidings emits events for the deletion of those that are still missing at the messaging service.',
  })
  @ApiProblems('not_found')
  async confirmDeletions(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Req() request: FastifyRequest,
  ): Promise<void> {
    const known = maySee(caller, id) && (await this.accounts.find(id)) !== undefined;
    if (!known) throw notFound('account', id);
    describeAudit(request, { account: id });
    await this.feed.confirmDeletions(id);
  }
}

/** Checks that the caller may change an account. @throws {Problem} `not_found` if the caller may not see the account, else `forbidden` */
function mayChange(caller: Principal, id: string): void {
  if (!maySee(caller, id)) throw notFound('account', id);
  if (!isOperator(caller)) throw onlyOperators();
}

function onlyOperators(): Problem {
  return new Problem(
    'forbidden',
    'Only API keys of the account `default` with the scope `admin` can add, change and delete accounts.',
  );
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
