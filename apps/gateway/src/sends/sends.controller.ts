import { Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { Send, SendIntake } from '#relay';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../docs/api-problems.js';
import { notFound } from '../problems/problem.js';
import { SEND_INTAKE } from '../tokens.js';
import { SendView } from './send.view.js';

@ApiTags('Sends')
@Controller('v1/sends')
export class SendsController {
  constructor(@Inject(SEND_INTAKE) private readonly sends: SendIntake) {}

  @Get(':id')
  @RequireScope('messages:read')
  @ApiOperation({ operationId: 'getSend', summary: 'How a send stands' })
  @ApiOkResponse({ type: SendView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<Send> {
    const send = await this.sends.find(account, id);
    if (send === undefined) throw notFound('send', id);
    return send;
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @RequireScope('messages:send')
  @ApiOperation({ operationId: 'cancelSend', summary: 'Cancel a send that is not yet being relayed' })
  @ApiOkResponse({ type: SendView })
  @ApiProblems('not_found', 'conflict')
  async cancel(@Caller() { account }: Principal, @Param('id') id: string): Promise<Send> {
    const send = await this.sends.cancel(account, id);
    if (send === undefined) throw notFound('send', id);
    return send;
  }
}
