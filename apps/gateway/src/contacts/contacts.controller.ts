import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../docs/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { ContactsReply, MessagesReply, PageQuery } from './contacts.dto.js';
import { type Shown, UpstreamReads } from './upstream-reads.js';

@ApiTags('Contacts')
@Controller('v1/contacts')
export class ContactsController {
  constructor(@Inject(UpstreamReads) private readonly reads: UpstreamReads) {}

  @Get()
  @RequireScope('messages:read')
  @ApiOperation({ operationId: 'listContacts', summary: 'The contacts, as the messaging service shows them' })
  @ApiOkResponse({ type: ContactsReply })
  @ApiProblems('upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async list(@Caller() { account }: Principal): Promise<{ contacts: Shown[] }> {
    return { contacts: await this.reads.contacts(account) };
  }

  @Get(':id')
  @RequireScope('messages:read')
  @ApiOperation({ operationId: 'getContact', summary: 'One contact' })
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: true } })
  @ApiProblems('not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<Shown> {
    return await this.reads.contact(account, id);
  }

  @Get(':id/messages')
  @RequireScope('messages:read')
  @ApiOperation({ operationId: 'listMessages', summary: 'A page of the messages exchanged with one contact' })
  @ApiOkResponse({ type: MessagesReply })
  @ApiProblems('validation_failed', 'not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async messages(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Query(new InputPipe(PageQuery)) { page, limit }: PageQuery,
  ): Promise<{ messages: Shown[] }> {
    return { messages: await this.reads.messages(account, id, Number(page), Number(limit)) };
  }
}
