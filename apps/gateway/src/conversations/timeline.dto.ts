import { ApiExtraModels, ApiProperty, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import {
  parseTimelineCursor,
  type SendOfMessage,
  type TimelineEntry,
  type TimelinePage,
} from '#conversations';
import { type Send, SEND_STATUSES } from '#relay';
import { CursorOf, Optional, WholeNumberText } from '../input/rules.js';
import { SendView } from '../sends/send.view.js';

export class TimelineQuery {
  @ApiProperty({ default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';

  @ApiProperty({ type: 'string', description: 'The value of `next` in the previous page.' })
  @Optional()
  @CursorOf(
    'must be the value of `next` from a previous page',
    (value) => parseTimelineCursor(value) !== undefined,
  )
  cursor?: string;
}

@ApiSchema({ name: 'SendOfMessage' })
class SendOfMessageView {
  @ApiProperty({ example: 'snd_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty({ enum: SEND_STATUSES }) status!: string;
  @ApiProperty({ type: 'string', nullable: true }) reference!: string | null;
}

@ApiSchema({ name: 'MessageEntry' })
class MessageEntryView {
  @ApiProperty({ enum: ['message'] }) kind!: 'message';
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Timestamp of the message. Null if the messaging service gave no timestamp, or one that cannot be read or is not after the beginning of 1970. Such messages are last in the timeline. If Tidings found the message of a send later than a minute before the first page of the timeline was requested, `at` may be the time of the send instead of the timestamp of the message, also on the following pages.',
  })
  at!: string | null;
  @ApiProperty({ oneOf: [{ $ref: '#/components/schemas/Message' }] })
  message!: Readonly<Record<string, unknown>>;
  @ApiProperty({
    type: SendOfMessageView,
    nullable: true,
    description:
      'The send that caused the message. Null if Tidings did not send the message, or no longer stores the send.',
  })
  send!: SendOfMessage | null;
}

@ApiSchema({ name: 'SendEntry' })
class SendEntryView {
  @ApiProperty({ enum: ['send'] }) kind!: 'send';
  @ApiProperty({
    format: 'date-time',
    description: 'Time when Tidings stored the send, or the `sendAt` of a scheduled send.',
  })
  at!: string;
  @ApiProperty({ type: SendView }) send!: Send;
  @ApiProperty({
    enum: [true],
    required: false,
    description: 'True if the send waits for its `sendAt`; otherwise the field is absent.',
  })
  scheduled?: true;
}

@ApiExtraModels(MessageEntryView, SendEntryView)
@ApiSchema({ name: 'Timeline' })
export class TimelineReply {
  @ApiProperty({
    type: 'array',
    items: { oneOf: [{ $ref: getSchemaPath(MessageEntryView) }, { $ref: getSchemaPath(SendEntryView) }] },
    description:
      'The entries of the page, newest first. A page may have fewer entries than `limit`, or none, even if more pages follow.',
  })
  timeline!: (MessageEntryView | SendEntryView)[];

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Cursor of the next page. Null on the last page, and if `partial` is true.',
  })
  next!: string | null;

  @ApiProperty({
    description:
      'Cursor of the event log: the end of the log just before Tidings read this page of the timeline. The events after this cursor report the new, changed and deleted messages that the page does not include, and the outcomes of sends. A new send has no event until it has an outcome; use `send.updated` of the event stream.',
  })
  after!: string;

  @ApiProperty({
    description:
      'True if the messages could not be read from the messaging service, or are not in order of time and too many to be sorted. The page then has only sends, and the first page also has a preview of the last message. If `partial` is true, request the page again later.',
  })
  partial!: boolean;
}

/** Converts a page to the reply. */
export function timelineReplyOf({ entries, next, after, isPartial }: TimelinePage<Send>): TimelineReply {
  return { timeline: entries.map(entryOf), next: next ?? null, after, partial: isPartial };
}

function entryOf(entry: TimelineEntry<Send>): MessageEntryView | SendEntryView {
  const { at } = entry.position;
  if (entry.kind === 'message') {
    const time = Number.isFinite(at) ? new Date(at).toISOString() : null;
    return { kind: 'message', at: time, message: entry.message, send: entry.send };
  }
  const { send, scheduled } = entry;
  return { kind: 'send', at: new Date(at).toISOString(), send, ...(scheduled ? { scheduled } : {}) };
}
