import { Controller, Get, Header, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeys, Principal } from '#accounts';
import { type EventLog, type EventPage, eventToJson, formatCursor } from '#events';
import { Caller } from '../auth/caller.js';
import { SharedChecks } from '../auth/shared-checks.js';
import { assertStillAllowed } from '../auth/still-allowed.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { disconnectSignalOf } from '../http/disconnect-signal.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { API_KEYS, EVENT_LOG } from '../tokens.js';
import { EventReads } from './event-reads.js';
import { EventStreams } from './event-streams.js';
import { EventsQuery, EventsReply, EventView, filterOf, lastEventIdOf, StreamQuery } from './events.dto.js';
import { STREAM_DESCRIPTION, STREAM_REPLY } from './stream-docs.js';

const JSON_TYPE = 'application/json; charset=utf-8';

@ApiTags('Events')
@Controller('v1/events')
export class EventsController {
  constructor(
    @Inject(EventReads) private readonly reads: EventReads,
    @Inject(EventStreams) private readonly streams: EventStreams,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(API_KEYS) private readonly keys: ApiKeys,
    @Inject(SharedChecks) private readonly checks: SharedChecks,
  ) {}

  @Get()
  @RequireScope('events:read')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'listEvents',
    summary: 'List events, oldest first',
    description:
      'Pass the `next` of one page as `after` of the next. With `wait`, the request is held until an event arrives, which makes a long poll. Without `after`, the list begins at the oldest event that is kept.',
  })
  @ApiOkResponse({ type: EventsReply })
  @ApiProblems('validation_failed', 'cursor_expired')
  async list(
    @Caller() { account }: Principal,
    @Query(new InputPipe(EventsQuery)) query: EventsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const page = await this.reads.read(account, {
      after: query.after,
      filter: filterOf(query),
      limit: Number(query.limit),
      waitMs: Number(query.wait) * 1000,
      disconnected: disconnectSignalOf(reply.raw),
    });
    if (Number(query.wait) > 0) await assertStillAllowed(this.keys, request);
    return pageToJson(page);
  }

  @Get('stream')
  @RequireScope('events:read')
  @ApiOperation({
    operationId: 'streamEvents',
    summary: 'Stream new events as server-sent events',
    description: STREAM_DESCRIPTION,
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Last `id` that the client received. The stream resumes after this `id`. `Last-Event-ID` takes precedence over `after`.',
  })
  @ApiOkResponse(STREAM_REPLY)
  @ApiProblems('validation_failed', 'cursor_expired')
  async stream(
    @Caller() { account }: Principal,
    @Query(new InputPipe(StreamQuery)) query: StreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const wanted = {
      account,
      after: lastEventIdOf(request.headers) ?? query.after,
      filter: filterOf(query),
      allowed: () => this.checks.isStillAllowed(request),
    };
    await this.streams.serve(wanted, {
      raw: reply.raw,
      takeOver: () => {
        reply.hijack();
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
      },
      headOnly: request.method === 'HEAD',
    });
  }

  @Get(':id')
  @RequireScope('events:read')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'getEvent',
    summary: 'Get an event',
    description: 'Events are kept for `EVENT_RETENTION_HOURS`.',
  })
  @ApiOkResponse({ type: EventView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<string> {
    const event = await this.log.find(account, id);
    if (event === undefined) throw notFound('event', id);
    return eventToJson(event);
  }
}

/** Returns a page as JSON. Each event has the same bytes as in streams and webhook deliveries. */
function pageToJson({ events, next, hasMore }: EventPage): string {
  const frame = JSON.stringify({ next: formatCursor(next), hasMore });
  return `{"events":[${events.map(eventToJson).join(',')}],${frame.slice(1)}`;
}
