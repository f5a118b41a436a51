import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { type Send, type SendService, SendNotResolvableError } from '#relay';
import { describeAudit } from '../audit/audit-details.js';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { isStoreFault } from '../problems/store-fault.js';
import { SEND_SERVICE } from '../tokens.js';
import { cursorAt, filterOf, positionIn, SendsQuery, SendsReply } from './list.dto.js';
import { ResolveDto, ResolveManyDto, ResolveManyReply, type ResolveResult } from './resolve.dto.js';
import { SendView } from './send.view.js';
import { VisibleSends, withVisibleLookups } from './visible-sends.js';

@ApiTags('Sends')
@Controller('v1/sends')
export class SendsController {
  constructor(
    @Inject(SEND_SERVICE) private readonly sends: SendService,
    @Inject(VisibleSends) private readonly visible: VisibleSends,
  ) {}

  @Get()
  @RequireScope('messages:read', 'filtered')
  @ApiOperation({
    operationId: 'listSends',
    summary: 'List sends, newest first',
    description:
      'A send must match all given filters. A page may have fewer sends than `limit`, or none, even if more pages follow. A page ends early if its sends would exceed 4 MB. On the last page, `next` is null.',
  })
  @ApiOkResponse({ type: SendsReply })
  @ApiProblems('validation_failed')
  async list(
    @Caller() caller: Principal,
    @Query(new InputPipe(SendsQuery)) query: SendsQuery,
  ): Promise<SendsReply> {
    const before = positionIn(query.cursor);
    const { sends, next } = await this.visible.list(caller, filterOf(query), Number(query.limit), before);
    return {
      sends,
      next: next === undefined ? null : cursorAt(next),
      hasMore: next !== undefined,
    };
  }

  @Get(':id')
  @RequireScope('messages:read', 'contact')
  @ApiOperation({
    operationId: 'getSend',
    summary: 'Get a send with its status',
    description:
      'The response has the status of the send, its attempts, and its look-ups (searches for the message of the send). When Tidings knows the contact and the message of the send, the response also has their ids.',
  })
  @ApiOkResponse({ type: SendView })
  @ApiProblems('not_found')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<Send> {
    const send = await this.visible.find(caller, id);
    if (send === undefined) throw notFound('send', id);
    return send;
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @RequireScope('messages:send', 'contact')
  @Audited('send.cancelled')
  @ApiOperation({
    operationId: 'cancelSend',
    summary: 'Cancel a scheduled or queued send',
    description:
      'A send that is being relayed or was relayed cannot be cancelled: the response has the status 409.',
  })
  @ApiOkResponse({ type: SendView })
  @ApiProblems('not_found', 'conflict')
  async cancel(@Caller() caller: Principal, @Param('id') id: string): Promise<Send> {
    const isVisible = caller.contactIds === undefined || (await this.visible.find(caller, id)) !== undefined;
    const send = isVisible ? await this.sends.cancel(caller.account, id) : undefined;
    if (send === undefined) throw notFound('send', id);
    return withVisibleLookups(caller, send);
  }

  @Post('resolve')
  @HttpCode(200)
  @RequireScope('messages:send')
  @Audited('send.resolved')
  @ApiOperation({
    operationId: 'resolveSends',
    summary:
      'Set the outcome of several sends with the status unknown, or resend several unknown or failed sends',
    description:
      'Each send id has its own result. If one send cannot be resolved, the other sends of the request are still resolved.',
  })
  @ApiOkResponse({ type: ResolveManyReply })
  @ApiProblems('validation_failed', 'malformed_body')
  async resolveMany(
    @Caller() { account }: Principal,
    @Body(new InputPipe(ResolveManyDto)) { ids, outcome }: ResolveManyDto,
    @Req() request: FastifyRequest,
  ): Promise<ResolveManyReply> {
    const results: ResolveResult[] = [];
    for (const id of new Set(ids)) {
      const unavailable = results.at(-1)?.code === 'unavailable';
      if (unavailable)
        results.push(
          unresolved(
            id,
            'unavailable',
            'The send was skipped, because Redis did not answer when an earlier send of the request was to be resolved.',
          ),
        );
      else results.push(await this.resultOf(account, id, outcome, results.length === 0));
    }
    const resolved = results.filter((result) => result.resolved);
    describeAudit(request, { subjects: resolved.map(({ id }) => id) });
    return { results };
  }

  @Post(':id/resolve')
  @HttpCode(200)
  @RequireScope('messages:send')
  @Audited('send.resolved')
  @ApiOperation({
    operationId: 'resolveSend',
    summary: 'Set the outcome of a send with the status unknown, or resend an unknown or failed send',
    description:
      'Set `outcome` to `sent` or `failed` if you know what happened to an `unknown` send. `resend` sends the message of an `unknown` or `failed` send again, unless Tidings finds the message at the messaging service.',
  })
  @ApiOkResponse({ type: SendView })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body')
  async resolve(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(ResolveDto)) { outcome }: ResolveDto,
  ): Promise<Send> {
    const send = await this.sends.resolve(account, id, outcome);
    if (send === undefined) throw notFound('send', id);
    return send;
  }

  private async resultOf(
    account: string,
    id: string,
    outcome: ResolveDto['outcome'],
    isFirst: boolean,
  ): Promise<ResolveResult> {
    try {
      const send = await this.sends.resolve(account, id, outcome);
      if (send !== undefined) return { id, resolved: true, send, code: null, detail: null };
      return unresolved(id, 'not_found', `The send ${id} was not found.`);
    } catch (error) {
      if (error instanceof SendNotResolvableError) return unresolved(id, 'conflict', error.message);
      // Sends before this one were resolved, and the caller must learn which.
      if (!isFirst && isStoreFault(error))
        return unresolved(id, 'unavailable', 'Redis did not answer. The send may have been resolved.');
      throw error;
    }
  }
}

function unresolved(id: string, code: NonNullable<ResolveResult['code']>, detail: string): ResolveResult {
  return { id, resolved: false, send: null, code, detail };
}
