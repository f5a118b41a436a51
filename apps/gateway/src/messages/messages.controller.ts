import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { MessageQueuedDto } from './send.dto.js';
import { SendAcceptance } from './send-acceptance.js';
import { MAX_UNFINISHED_SENDS } from './send-quota.js';

/** Upstream's result of a send, with the id of the send. */
interface Queued {
  status: 'queued';
  message: string;
  id: string;
}

@ApiTags('Messages')
@Controller('v1/messages')
export class MessagesController {
  constructor(@Inject(SendAcceptance) private readonly acceptance: SendAcceptance) {}

  @Post('send')
  @HttpCode(200)
  @RequireScope('messages:send', 'contact')
  @ApiOperation({
    operationId: 'sendMessage',
    summary: 'Send a message',
    description:
      'Tidings stores the message before it responds, and relays the message to the messaging service afterwards. `GET /v1/sends/{id}` and the `send.*` events show the outcome of a send. ' +
      `The tokens of one API key that are restricted to the same contacts may have at most ${MAX_UNFINISHED_SENDS} sends together ` +
      'that are `scheduled`, `queued` or `relaying`. Further requests get the status 429.',
  })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Idempotency key, which makes retries safe: a second request with the same key and body returns the first response and sends nothing. An idempotency key is kept for `EVENT_RETENTION_HOURS`, but for at least 24 hours.',
    schema: { type: 'string', maxLength: 255 },
  })
  @ApiOkResponse({
    type: MessageQueuedDto,
    headers: {
      Location: { description: 'URL path of the send: `/v1/sends/{id}`.', schema: { type: 'string' } },
      'Idempotent-Replayed': {
        description:
          '`true` if the response repeats the response to an earlier request with the same idempotency key.',
        schema: { type: 'string' },
      },
    },
  })
  @ApiProblems(
    'validation_failed',
    'malformed_body',
    'payload_too_large',
    'unsupported_media_type',
    'idempotency_in_progress',
    'idempotency_key_reused',
  )
  async send(
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Queued> {
    const { id, replayed } = await this.acceptance.accept(caller, request);
    reply.header('location', `/v1/sends/${id}`);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return { status: 'queued', message: 'The message is stored and will be sent.', id };
  }
}
