import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Optional, WholeNumberText } from '../input/rules.js';

export class PageQuery {
  @ApiProperty({ default: 1 })
  @Optional()
  @WholeNumberText(1, 1_000_000_000)
  page: string = '1';

  @ApiProperty({ default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';
}

/** Query without documented parameters. */
@ApiSchema({ description: 'No parameters.' })
export class NoQuery {}

/** Schema of an upstream object: only the documented fields, with any additional field allowed. */
const AS_UPSTREAM = {
  properties: { id: { type: 'string' } },
  additionalProperties: true,
};

/** Schema of an upstream object that is passed on unchanged. Its id may be a number, because upstream does not document the type. */
const AS_WRITTEN = {
  ...AS_UPSTREAM,
  // OpenAPI 3.1 allows a list of types, but the types of @nestjs/swagger do not.
  properties: { id: { type: ['string', 'number'] as unknown as string } },
};

export const CONTACT = {
  type: 'object',
  required: ['id'],
  ...AS_UPSTREAM,
  example: { id: 'c_1', name: 'Ada' },
};

/** Schema of the contact list. It has no type, because with CONTACTS_SHAPE=upstream the body may be a list. */
export const CONTACT_LIST = {
  description:
    'An object with `contacts` and any other field of the messaging service. With `CONTACTS_SHAPE=upstream`, the body is ' +
    'exactly that of the messaging service. That body may be a list, and its ids may be numbers.',
  properties: { contacts: { type: 'array', items: AS_WRITTEN } },
  example: { contacts: [{ id: 'c_1', name: 'Ada' }] },
};

export const MESSAGE_LIST = {
  description: 'An object with `messages` and any other field of the messaging service.',
  type: 'object',
  required: ['messages'],
  properties: { messages: { type: 'array', items: AS_UPSTREAM } },
  additionalProperties: true,
  example: { messages: [{ id: 'm_1', direction: 'outbound', message: 'Hello' }] },
};

export const AGE = {
  Age: {
    description:
      'Age of the data in seconds. The header is absent if this request caused a request to the messaging service.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
};
