import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import { parseTimelineCursor, type Timeline } from '#conversations';
import type { Send } from '#relay';
import { Caller } from '../auth/caller.js';
import { ContactAccess } from '../auth/contact-access.js';
import { RequireScope } from '../auth/require-scope.js';
import { SharedCalls } from '../calls/shared-calls.js';
import { InputPipe } from '../input/input.pipe.js';
import { ApiProblems } from '../problems/api-problems.js';
import { TIMELINE } from '../tokens.js';
import { ConversationReads } from './conversation-reads.js';
import { TimelineQuery, TimelineReply, timelineReplyOf } from './timeline.dto.js';

@ApiTags('Conversations')
@Controller('v1/conversations')
export class TimelineController {
  /** Identical requests at the same time share one read of the timeline. */
  private readonly calls = new SharedCalls<TimelineReply>();

  constructor(
    @Inject(ConversationReads) private readonly reads: ConversationReads,
    @Inject(ContactAccess) private readonly access: ContactAccess,
    @Inject(TIMELINE) private readonly timeline: Timeline<Send>,
  ) {}

  @Get(':id/timeline')
  @RequireScope('messages:read', 'contact')
  @ApiOperation({
    operationId: 'getTimeline',
    summary: 'List the messages and sends of a conversation, newest first',
    description:
      'Tidings reads the messages from the messaging service, with at most five requests per page, and sorts them. ' +
      'A message appears as soon as its event is recorded. A send appears as an entry of its own until its message appears. Cancelled sends do not appear. ' +
      'While you follow `next`, each entry is returned exactly once. To get later messages, call `GET /v1/events?after=` with the value of the response field `after`.',
  })
  @ApiOkResponse({ type: TimelineReply })
  @ApiProblems('validation_failed', 'not_found')
  async get(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query(new InputPipe(TimelineQuery)) { limit, cursor }: TimelineQuery,
  ): Promise<TimelineReply> {
    const { id: found, contactId, phoneNumbers, lastMessage } = await this.reads.find(caller, id);
    const conversation = { id: found, contactId, phoneNumbers, last: lastMessage };
    const key = JSON.stringify([caller.account, id, contactId, phoneNumbers, limit, cursor]);
    const { timeline, next, after, partial } = await this.calls.share(key, async () =>
      timelineReplyOf(
        await this.timeline.read(caller.account, conversation, Number(limit), parseTimelineCursor(cursor)),
      ),
    );
    // A send to a number that contacts share may belong to another contact.
    return { timeline: await this.access.entriesOf(caller, timeline), next, after, partial };
  }
}
