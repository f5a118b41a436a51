import { ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
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

/** No parameters that are documented. */
@ApiSchema({ description: 'No parameters.' })
export class NoQuery {}

/** What upstream shows: documented as far as it is known, and open. Whatever else stands in a list passes through. */
const AS_UPSTREAM = {
  properties: { id: { type: 'string' } },
  additionalProperties: true,
};

/** The same where upstream's own body is shown, to the letter: whether ids are text or numbers, nobody documented. */
const AS_WRITTEN = {
  ...AS_UPSTREAM,
  // OpenAPI 3.1 allows a list; the types of Nest's package do not know yet.
  properties: { id: { type: ['string', 'number'] as unknown as string } },
};

export const CONTACT = {
  type: 'object',
  required: ['id'],
  ...AS_UPSTREAM,
  example: { id: 'c_1', name: 'Ada' },
};

/** An object with the contacts and whatever upstream says beside them; anything where the gateway shows upstream's own form. */
export const CONTACT_LIST = {
  description:
    'An object with `contacts` and whatever the messaging service says beside them. With `CONTACTS_SHAPE=upstream` the ' +
    "messaging service's own body, which may be a bare list, and ids in it are numbers where that wrote numbers.",
  properties: { contacts: { type: 'array', items: AS_WRITTEN } },
  example: { contacts: [{ id: 'c_1', name: 'Ada' }] },
};

export const MESSAGE_LIST = {
  description: 'An object with `messages` and whatever the messaging service says beside them.',
  type: 'object',
  required: ['messages'],
  properties: { messages: { type: 'array', items: AS_UPSTREAM } },
  additionalProperties: true,
  example: { messages: [{ id: 'm_1', direction: 'outbound', message: 'Hello' }] },
};

export const AGE = {
  Age: {
    description: 'Seconds since the messaging service said so, if it was not asked now.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
};
