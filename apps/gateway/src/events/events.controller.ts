import { Controller, Get, Header, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Principal } from '#accounts';
import { type EventLog, type EventPage, eventToJson, formatCursor } from '#events';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../docs/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { EVENT_LOG } from '../tokens.js';
import { EventReads } from './event-reads.js';
import { EventsQuery, EventsReply, EventView, typesOf } from './events.dto.js';

const JSON_TYPE = 'application/json; charset=utf-8';

@ApiTags('Events')
@Controller('v1/events')
export class EventsController {
  constructor(
    @Inject(EventReads) private readonly reads: EventReads,
    @Inject(EVENT_LOG) private readonly log: EventLog,
  ) {}

  @Get()
  @RequireScope('events:read')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({ operationId: 'listEvents', summary: 'Events in the order in which they were recorded' })
  @ApiOkResponse({ type: EventsReply })
  @ApiProblems('validation_failed', 'cursor_expired')
  async list(
    @Caller() { account }: Principal,
    @Query(new InputPipe(EventsQuery)) query: EventsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const { after, types, contactId } = query;
    const filter = {
      ...(types === undefined ? {} : { types: typesOf(types) }),
      ...(contactId === undefined ? {} : { contactId }),
    };
    const page = await this.reads.read(account, {
      after,
      filter,
      limit: Number(query.limit),
      waitMs: Number(query.wait) * 1000,
      gone: hangUpOf(reply),
    });
    return pageToJson(page);
  }

  @Get(':id')
  @RequireScope('events:read')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({ operationId: 'getEvent', summary: 'One event' })
  @ApiOkResponse({ type: EventView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<string> {
    const event = await this.log.find(account, id);
    if (event === undefined) throw notFound('event', id);
    return eventToJson(event);
  }
}

/** The page with each event's own bytes, the same as every other subscriber gets. */
function pageToJson({ events, next, hasMore }: EventPage): string {
  const frame = JSON.stringify({ next: formatCursor(next), hasMore });
  return `{"events":[${events.map(eventToJson).join(',')}],${frame.slice(1)}`;
}

/** Aborts when the caller hangs up before the answer. */
function hangUpOf(reply: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  reply.raw.once('close', () => {
    aborter.abort();
  });
  return aborter.signal;
}
