import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { Conversation } from '#conversations';

const DIRECTIONS = ['inbound', 'outbound', 'other'] as const;

/** Documents one row of the conversation list. */
@ApiSchema({ name: 'Conversation' })
export class ConversationView {
  @ApiProperty({
    description:
      'Id of the contact. If no contact has the phone number of the conversation, the id is the phone number.',
    example: 'con_8cf49639261462f7',
  })
  id!: string;

  @ApiProperty({ type: 'string', nullable: true, example: 'con_8cf49639261462f7' })
  contactId!: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Phone number whose conversation this conversation replaced when Tidings learned that the number belongs to the contact. Remove your copy of the conversation whose `id` is this number. Null if this conversation replaced none.',
    example: '+14155550123',
  })
  replaces!: string | null;

  @ApiProperty({
    type: [String],
    description: 'Phone numbers of the conversation. The phone number of the last message comes first.',
    example: ['+14155550123'],
  })
  phoneNumbers!: readonly string[];

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description:
      'The contact as the messaging service returns it. Null if Tidings knows no contact for the conversation.',
    example: { id: 'con_8cf49639261462f7', name: 'Ada' },
  })
  contact!: Readonly<Record<string, unknown>> | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Beginning of the text of the last message or send, at most 280 characters. Null if the last message or send has no text, or if the conversation has no message or send.',
    example: 'See you tomorrow',
  })
  preview!: string | null;

  @ApiProperty({
    enum: DIRECTIONS,
    nullable: true,
    description:
      'Direction of the last message or send. `other` means that the messaging service gave an undocumented direction. Null if the conversation has no message or send.',
    example: 'inbound',
  })
  lastDirection!: (typeof DIRECTIONS)[number] | null;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time of the last message or send. The time of a message is its timestamp or the time when it was first seen, whichever is earlier. The time of a send is the time when Tidings stored it. Null if the conversation has no message or send.',
  })
  lastActivityAt!: string | null;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    description: 'Number of new inbound messages that were neither seen nor answered, at most 100.',
    example: 2,
  })
  unreadCount!: number;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time of the first inbound message after the last outbound message. Null if no inbound message is newer than the last outbound message.',
  })
  waitingSince!: string | null;

  @ApiProperty({
    type: 'integer',
    description: 'Number of sends with the status `scheduled`, `queued`, `relaying` or `accepted`.',
    example: 0,
  })
  pendingSends!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Number of stored sends with the status `failed`, `expired` or `unknown`.',
    example: 0,
  })
  failedSends!: number;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description:
      'Increases with every change of the conversation. Ignore the data of a conversation if you already have the same conversation with a higher `revision`.',
    example: 1_795_562_380_648,
  })
  revision!: number;
}

/**
 * Returns a conversation as callers see it, in JSON.
 * @param contact the contact as JSON, which is passed through unchanged; undefined if there is none
 */
export function conversationToJson(conversation: Conversation, contact = 'null'): string {
  const { id, contactId, replaces, phoneNumbers, last, lastActivityAt, unreadCount } = conversation;
  const { waitingSince, pendingSends, failedSends, revision } = conversation;
  const view: Omit<ConversationView, 'contact'> = {
    id,
    contactId: contactId ?? null,
    replaces: replaces ?? null,
    phoneNumbers,
    preview: last?.preview ?? null,
    lastDirection: last?.direction ?? null,
    lastActivityAt: timeOrNull(lastActivityAt),
    unreadCount,
    waitingSince: timeOrNull(waitingSince),
    pendingSends,
    failedSends,
    revision,
  };
  return `${JSON.stringify(view).slice(0, -1)},"contact":${contact}}`;
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
