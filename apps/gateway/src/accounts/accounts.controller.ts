import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AccountDescription, AccountRegistry, Principal } from '#accounts';
import type { FeedStore } from '#feed';
import type { GatewayEnvironment } from '#platform';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { isOperator, maySee } from '../auth/operator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { givenIn, InputPipe } from '../input/input.pipe.js';
import { notFound, Problem } from '../problems/problem.js';
import { ACCOUNT_REGISTRY, ENVIRONMENT, FEED } from '../tokens.js';
import { AccountsReply, AccountView, ChangeAccountDto, CreateAccountDto } from './accounts.dto.js';

/** What of the feed can be told to believe. */
export type FeedDoubts = Pick<FeedStore, 'believeDeletions'>;

const WHO =
  'Admins of the account `default` see and change all accounts; admins of another one see their own, and change none.';

@ApiTags('Accounts')
@Controller('v1/accounts')
export class AccountsController {
  constructor(
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: AccountRegistry,
    @Inject(FEED) private readonly feed: FeedDoubts,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
  ) {}

  @Post()
  @RequireScope('admin')
  @Audited('account.created')
  @ApiOperation({
    operationId: 'createAccount',
    summary: 'Add an account at upstream',
    description: `It is polled, and sends are relayed, within seconds. ${WHO}`,
  })
  @ApiCreatedResponse({
    type: AccountView,
    headers: { Location: { description: 'Where the account is.', schema: { type: 'string' } } },
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
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AccountDescription> {
    if (!isOperator(caller)) throw onlyOperators();
    const { id, apiKey, polling } = body;
    const requestsPerSecond = body.requestsPerSecond ?? this.environment.UPSTREAM_REQUESTS_PER_SECOND;
    const baseUrl = withoutSlash(body.baseUrl);
    const account = await this.accounts.create({ id, baseUrl, apiKey, requestsPerSecond, polling });
    reply.header('location', `/v1/accounts/${account.id}`);
    return account;
  }

  @Get()
  @RequireScope('admin')
  @ApiOperation({ operationId: 'listAccounts', summary: 'Every account', description: WHO })
  @ApiOkResponse({ type: AccountsReply })
  @ApiProblems()
  async list(@Caller() caller: Principal): Promise<{ accounts: AccountDescription[] }> {
    if (isOperator(caller)) return { accounts: await this.accounts.list() };
    const own = await this.accounts.find(caller.account);
    return { accounts: own === undefined ? [] : [own] };
  }

  @Get(':id')
  @RequireScope('admin')
  @ApiOperation({ operationId: 'getAccount', summary: 'One account', description: WHO })
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
    summary: 'Change what is given, leave the rest',
    description: `It counts at once, in every process. A \`baseUrl\` of another origin needs the \`apiKey\` for it. ${WHO}`,
  })
  @ApiOkResponse({ type: AccountView })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body', 'unsupported_media_type')
  async change(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(ChangeAccountDto)) body: ChangeAccountDto,
  ): Promise<AccountDescription> {
    mayChange(caller, id);
    const { baseUrl, ...rest } = givenIn(body);
    const changes = { ...rest, ...(baseUrl === undefined ? {} : { baseUrl: withoutSlash(baseUrl) }) };
    const account = await this.accounts.change(id, changes);
    if (account === undefined) throw notFound('account', id);
    return account;
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('admin')
  @Audited('account.removed')
  @ApiOperation({
    operationId: 'deleteAccount',
    summary: 'Remove an account, its keys and its data',
    description: `Its keys are refused at once, and its polling ends; its data goes in the minutes after. ${WHO}`,
  })
  @ApiNoContentResponse({ description: 'Nobody gets in for it any more.' })
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
    summary: 'Say that what vanished together is deleted',
    description:
      'After `account.suspect`: so many contacts or messages vanished together that nothing was reported as deleted. ' +
      'If they are deleted indeed, the next complete reads report it.',
  })
  @ApiNoContentResponse({ description: 'Deletions are believed from now on.' })
  @ApiProblems('not_found')
  async confirmDeletions(@Caller() caller: Principal, @Param('id') id: string): Promise<void> {
    const known = maySee(caller, id) && (await this.accounts.find(id)) !== undefined;
    if (!known) throw notFound('account', id);
    await this.feed.believeDeletions(id);
  }
}

/** @throws {Problem} as for an account that is not there, where the caller must not know of it */
function mayChange(caller: Principal, id: string): void {
  if (!maySee(caller, id)) throw notFound('account', id);
  if (!isOperator(caller)) throw onlyOperators();
}

function onlyOperators(): Problem {
  return new Problem('forbidden', 'Only admins of the account default may change accounts.');
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
