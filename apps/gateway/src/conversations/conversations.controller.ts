import { Body, Controller, Get, Header, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { JSON_TYPE } from '../http/media-types.js';
import { InputPipe } from '../input/input.pipe.js';
import { ApiProblems } from '../problems/api-problems.js';
import { ConversationReads } from './conversation-reads.js';
import { ConversationView } from './conversation.view.js';
import { ConversationsQuery, ConversationsReply, SeenDto } from './conversations.dto.js';

@ApiTags('Conversations')
@Controller('v1/conversations')
export class ConversationsController {
  constructor(@Inject(ConversationReads) private readonly reads: ConversationReads) {}

  @Get()
  @RequireScope('messages:read', 'filtered')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'listConversations',
    summary: 'List conversations, newest first',
    description:
      'Tidings returns the list from its own data, without a request to the messaging service. A conversation that has no new activity while you read the pages appears exactly once in them. To learn about conversations with new activity, open an event stream with `conversation.updated` in `types`. A search examines at most 1,000 conversations: of the conversations that contain the rarest word of `q`, those with the latest activity. If the rarest word occurs in more than 2,000 conversations, the search examines the 1,000 conversations of the account with the latest activity.',
  })
  @ApiOkResponse({ type: ConversationsReply })
  @ApiProblems('validation_failed', 'not_found')
  async list(
    @Caller() caller: Principal,
    @Query(new InputPipe(ConversationsQuery)) query: ConversationsQuery,
  ): Promise<string> {
    return this.reads.list(caller, query);
  }

  @Get(':id')
  @RequireScope('messages:read', 'contact')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'getConversation',
    summary: 'Get a conversation',
    description:
      'The id is the id of a contact, or a phone number. If a contact has the phone number, the conversation of the contact is returned.',
  })
  @ApiOkResponse({ type: ConversationView })
  @ApiProblems('not_found')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<string> {
    return this.reads.get(caller, id);
  }

  @Post(':id/seen')
  @HttpCode(204)
  @RequireScope('messages:read', 'contact')
  @ApiOperation({
    operationId: 'markConversationSeen',
    summary: 'Mark the messages of a conversation as seen',
    description:
      'Messages never become unseen again. The messages are marked as seen for all callers of the account, and nothing is sent to the messaging service.',
  })
  @ApiNoContentResponse()
  @ApiProblems('validation_failed', 'not_found')
  async seen(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(SeenDto)) { upTo }: SeenDto,
  ): Promise<void> {
    await this.reads.markSeen(caller, id, upTo);
  }
}
