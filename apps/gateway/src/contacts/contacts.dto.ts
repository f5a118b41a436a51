import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Optional, WholeNumberText } from '../input/rules.js';

export class PageQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, default: 1 })
  @Optional()
  @WholeNumberText(1, 1_000_000_000)
  page: string = '1';

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';
}

const AS_UPSTREAM = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' } },
  additionalProperties: true,
};

export class ContactsReply {
  @ApiProperty({ type: 'array', items: AS_UPSTREAM, example: [{ id: 'c_1', name: 'Ada' }] })
  contacts!: Readonly<Record<string, unknown>>[];
}

export class MessagesReply {
  @ApiProperty({
    type: 'array',
    items: AS_UPSTREAM,
    example: [{ id: 'm_1', direction: 'outbound', message: 'Hello' }],
  })
  messages!: Readonly<Record<string, unknown>>[];
}
