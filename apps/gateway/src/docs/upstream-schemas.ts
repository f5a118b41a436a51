import type { OpenAPIObject } from '@nestjs/swagger';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];

/** The messaging service documents ids as text, but other types are passed on as well. */
const ID = {
  type: ['string', 'number'],
  description: 'Id that the messaging service gave to the message or contact.',
} as unknown as Schema;
/** Values are passed on unchanged, and the messaging service may have null for a field without a value. */
const TEXT = orNull('string');
const FLAG = orNull('boolean');

const UNCHANGED = 'An element without an id, such as null, is passed on unchanged too.';

/**
 * Objects of the messaging service: the documented fields, of which only the id is always present, and any other fields.
 */
export const UPSTREAM_SCHEMAS: Schemas = {
  Message: {
    type: 'object',
    description:
      'A message as the messaging service returns it. In an event about a deleted message, the message has the last known values of its fields, if Tidings still stores them. A field without a value may be absent or null.',
    required: ['id'],
    properties: {
      id: ID,
      from: { ...TEXT, description: 'Sender: a phone number in E.164 form, or a mail address.' },
      to: { ...TEXT, description: 'Recipient: a phone number in E.164 form, or a mail address.' },
      direction: {
        ...TEXT,
        description: '`inbound`, `outbound`, or another value that the messaging service uses.',
      },
      message: { ...TEXT, description: 'Text of the message.' },
      timestamp: {
        ...TEXT,
        description: 'When the message was sent, normally as an ISO 8601 time in UTC. Passed on unchanged.',
      },
      attachments: { ...orNull('array'), items: { type: 'object', additionalProperties: true } },
      service: { ...TEXT, description: 'Transport of the message, for example `iMessage`.' },
      status: {
        ...orNull('object'),
        properties: { read: FLAG, delivered: FLAG },
        additionalProperties: true,
      },
    },
    additionalProperties: true,
    example: {
      id: 'msg_1',
      direction: 'outbound',
      message: 'Hello',
      status: { read: false, delivered: true },
    },
  },
  Contact: {
    type: 'object',
    description:
      'A contact as the messaging service returns it. The only field of a contact that the messaging service documents is `id`.',
    required: ['id'],
    properties: { id: ID },
    additionalProperties: true,
    example: { id: 'con_1', name: 'Ada' },
  },
  ContactList: {
    type: 'object',
    description: `An object with \`contacts\` and any other fields that the messaging service returns. ${UNCHANGED}`,
    required: ['contacts'],
    properties: { contacts: { type: 'array', items: { $ref: '#/components/schemas/Contact' } } },
    additionalProperties: true,
  },
  MessageList: {
    type: 'object',
    description: `An object with \`messages\` and any other fields that the messaging service returns. ${UNCHANGED}`,
    required: ['messages'],
    properties: { messages: { type: 'array', items: { $ref: '#/components/schemas/Message' } } },
    additionalProperties: true,
  },
};

function orNull(type: string): Schema {
  return { type: [type, 'null'] };
}
