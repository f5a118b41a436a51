import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CursorOf, Optional, TextOf, WholeNumberText } from '../input/rules.js';
import { ConversationView } from './conversation.view.js';
import { parseListCursor } from './list-cursor.js';

export class ConversationsQuery {
  @ApiProperty({ default: 50 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '50';

  @ApiProperty({ type: 'string', description: 'The value of `next` in the previous page.' })
  @Optional()
  @CursorOf(
    'must be the value of `next` from a previous page',
    (value) => parseListCursor(value) !== undefined,
  )
  cursor?: string;

  @ApiProperty({
    description:
      'Text to search for: beginnings of words in the text fields of the contact, or the first or last digits of its phone number (digits also match the beginning of a word). Texts of messages are not searched.',
    example: 'ada',
  })
  @Optional()
  @TextOf(200)
  q?: string;
}

@ApiSchema({ name: 'ConversationList' })
export class ConversationsReply {
  @ApiProperty({ type: [ConversationView], description: 'The conversations of the page, the newest first.' })
  conversations!: ConversationView[];

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Cursor of the next page, or null on the last page.',
  })
  next!: string | null;

  @ApiProperty({
    description:
      'Cursor of the event log: the end of the log just before Tidings read this page of conversations. Read the events after this cursor to keep the page up to date. Some events after the cursor may report changes that the page already includes.',
  })
  after!: string;
}

@ApiSchema({ name: 'SeenRequest' })
export class SeenDto {
  @ApiProperty({
    description:
      'Id of the last message that was seen. Earlier inbound messages of the conversation count as seen too.',
    example: 'msg_f5124f487dbe7ba5',
  })
  @TextOf(512)
  upTo!: string;
}
