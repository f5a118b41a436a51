import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiQuery, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { ContactAccess } from '../auth/contact-access.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { JSON_TYPE } from '../http/media-types.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { AGE, NoQuery, PageQuery } from './contacts.dto.js';
import { readListQuery, readPageQuery } from './upstream-query.js';
import { type ReadReply, UpstreamReads } from './upstream-reads.js';

@ApiTags('Contacts')
@Controller('v1/contacts')
export class ContactsController {
  constructor(
    @Inject(UpstreamReads) private readonly reads: UpstreamReads,
    @Inject(ContactAccess) private readonly access: ContactAccess,
  ) {}

  @Get()
  @RequireScope('messages:read')
  @ApiOperation({
    operationId: 'listContacts',
    summary: 'List the contacts of the messaging service',
    description: 'Undocumented query parameters are passed on to the messaging service.',
  })
  @ApiOkResponse({ schema: { $ref: getSchemaPath('ContactList') }, headers: AGE })
  @ApiProblems('validation_failed', 'upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async list(
    @Caller() caller: Principal,
    @Query() query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    return answer(reply, await this.reads.contacts(caller, readListQuery(query)));
  }

  @Get(':id')
  @RequireScope('messages:read')
  @ApiOperation({
    operationId: 'getContact',
    summary: 'Get a contact',
    description: 'Tidings reads the contact from the contact list of the messaging service.',
  })
  @ApiOkResponse({ schema: { $ref: getSchemaPath('Contact') }, headers: AGE })
  @ApiProblems('validation_failed', 'not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async get(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query(new InputPipe(NoQuery)) _: NoQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    return answer(reply, await this.reads.contact(caller, id));
  }

  @Get(':id/messages')
  @RequireScope('messages:read', 'contact')
  @ApiOperation({
    operationId: 'listMessages',
    summary: 'List the messages of a contact, page by page',
    description:
      'Undocumented query parameters are passed on to the messaging service. A token that is restricted to contacts cannot use them.',
  })
  @ApiQuery({ type: PageQuery })
  @ApiOkResponse({ schema: { $ref: getSchemaPath('MessageList') }, headers: AGE })
  @ApiProblems('validation_failed', 'not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout')
  async messages(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query() query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    if (!this.access.maySeeContact(caller, id)) throw notFound('contact', id);
    return answer(reply, await this.reads.messages(caller, id, readPageQuery(query, caller)));
  }
}

/** Sets the response headers and returns the body, which is JSON text. */
function answer(reply: FastifyReply, { body, age }: ReadReply): unknown {
  if (age !== undefined) reply.header('age', String(age));
  reply.type(JSON_TYPE);
  return body;
}
