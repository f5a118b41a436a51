import { Controller, Get, Header, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { type EventLog, type EventPage, eventToJson, formatCursor, MAX_EXAMINED_EVENTS } from '#events';
import type { Authenticator } from '../auth/authenticator.js';
import { Caller } from '../auth/caller.js';
import { CallerLifetimes } from '../auth/caller-lifetimes.js';
import { ContactAccess, MAX_EXAMINED_FOR_TOKENS } from '../auth/contact-access.js';
import { SharedChecks } from '../auth/shared-checks.js';
import { assertStillAllowed } from '../auth/still-allowed.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { disconnectSignalOf } from '../http/disconnect-signal.js';
import { JSON_TYPE } from '../http/media-types.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { AUTHENTICATOR, EVENT_LOG } from '../tokens.js';
import { EventReads, type EventRequest } from './event-reads.js';
import { EventStreams, type StreamReply } from './event-streams.js';
import {
  EventsQuery,
  EventsReply,
  EventView,
  filterOf,
  liveTypesOf,
  lastEventIdOf,
  StreamQuery,
} from './events.dto.js';
import { STREAM_DESCRIPTION, STREAM_REPLY } from './stream-docs.js';

/** The parameters that a caller may repeat instead of separating their values by commas. */
const REPEATABLE = { repeatable: ['types'] };

@ApiTags('Events')
@Controller('v1/events')
export class EventsController {
  constructor(
    @Inject(EventReads) private readonly reads: EventReads,
    @Inject(EventStreams) private readonly streams: EventStreams,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator,
    @Inject(SharedChecks) private readonly checks: SharedChecks,
    @Inject(ContactAccess) private readonly access: ContactAccess,
    @Inject(CallerLifetimes) private readonly lifetimes: CallerLifetimes,
  ) {}

  @Get()
  @RequireScope('events:read', 'filtered')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'listEvents',
    summary: 'List events, oldest first',
    description:
      'To get the next page, pass the `next` of the previous page as `after`. With `wait`, the request waits until an event arrives (long polling). Without `after`, the list begins with the oldest stored event; with `last`, the list contains the newest events. ' +
      `With a filter, or with a token that is restricted to contacts, one request examines at most ${MAX_EXAMINED_EVENTS.toLocaleString('en-US')} events (with any token, ${MAX_EXAMINED_FOR_TOKENS.toLocaleString('en-US')}), ` +
      'so a page may have fewer than `limit` events, or none, while `hasMore` is true. A page also ends early if its events would exceed 8 million characters.',
  })
  @ApiOkResponse({ type: EventsReply })
  @ApiProblems('validation_failed', 'cursor_expired')
  async list(
    @Caller() caller: Principal,
    @Query(new InputPipe(EventsQuery, REPEATABLE)) query: EventsQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const wanted = {
      after: query.after,
      last: query.last === undefined ? undefined : Number(query.last),
      filter: this.access.eventsOf(caller, filterOf(query)),
      limit: Number(query.limit),
      waitMs: Number(query.wait) * 1000,
      left: disconnectSignalOf(reply.raw),
    };
    const page =
      wanted.waitMs === 0
        ? await this.reads.read(caller, wanted)
        : await this.longPoll(caller, wanted, request);
    return pageToJson(page);
  }

  @Get('stream')
  @RequireScope('events:read', 'filtered')
  @ApiOperation({
    operationId: 'streamEvents',
    summary: 'Stream new events as server-sent events',
    description: STREAM_DESCRIPTION,
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Last `id` that the client received from an event stream. The new stream starts after the cursor in `Last-Event-ID`. The header `Last-Event-ID` takes precedence over the parameter `after`.',
  })
  @ApiOkResponse(STREAM_REPLY)
  @ApiProblems('validation_failed', 'cursor_expired')
  async stream(
    @Caller() caller: Principal,
    @Query(new InputPipe(StreamQuery, REPEATABLE)) query: StreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const after = lastEventIdOf(request.headers) ?? query.after;
    const { ended, release } = await this.lifetimes.follow(request);
    const wanted = {
      caller,
      liveTypes: liveTypesOf(query),
      after,
      filter: this.access.eventsOf(caller, filterOf(query)),
      allowed: () => this.checks.isStillAllowed(request),
      ended,
    };
    try {
      await this.streams.serve(wanted, replyOf(request, reply));
    } finally {
      release();
    }
  }

  @Get(':id')
  @RequireScope('events:read', 'contact')
  @Header('Content-Type', JSON_TYPE)
  @ApiOperation({
    operationId: 'getEvent',
    summary: 'Get an event',
    description:
      'Tidings stores an event for `EVENT_RETENTION_HOURS`, or until the account has `EVENT_RETENTION_MAX` newer events.',
  })
  @ApiOkResponse({ type: EventView })
  @ApiProblems('not_found')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<string> {
    const event = await this.log.find(caller.account, id);
    if (event === undefined || !(await this.access.maySeeEvent(caller, event))) throw notFound('event', id);
    return eventToJson(event);
  }

  /** Reads a page, waiting for events if there are none yet. The caller may have lost its access meanwhile. */
  private async longPoll(
    caller: Principal,
    wanted: EventRequest,
    request: FastifyRequest,
  ): Promise<EventPage> {
    const { ended, release } = await this.lifetimes.follow(request);
    try {
      const left = AbortSignal.any([wanted.left, ended]);
      const page = await this.reads.read(caller, { ...wanted, left });
      await assertStillAllowed(this.authenticator, request);
      return page;
    } finally {
      release();
    }
  }
}

/** Returns the HTTP response of a stream. */
function replyOf(request: FastifyRequest, reply: FastifyReply): StreamReply {
  return {
    raw: reply.raw,
    takeOver: () => {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
    },
    headOnly: request.method === 'HEAD',
  };
}

/** Returns a page as JSON. Each event has the same bytes as in streams and webhook deliveries. */
function pageToJson({ events, next, hasMore }: EventPage): string {
  const frame = JSON.stringify({ next: formatCursor(next), hasMore });
  return `{"events":[${events.map(eventToJson).join(',')}],${frame.slice(1)}`;
}
