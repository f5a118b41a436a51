import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType } from '#events';
import { SendView } from '../sends/send.view.js';
import { WebhookView } from '../webhooks/webhooks.dto.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];

/** Something of upstream's: only its id is sure, the rest is as it was shown. */
export const AS_UPSTREAM = {
  type: 'object',
  required: ['id'],
  // Whether ids are text or numbers, nobody documented.
  properties: { id: { type: ['string', 'number'] } },
  additionalProperties: true,
} as unknown as Schema;

const TEXT: Schema = { type: 'string' };
const INSTANT: Schema = { type: 'string', format: 'date-time' };
const TRUE: Schema = { type: 'boolean', enum: [true] };
const MESSAGE = named('Message');
const CONTACT = named('Contact');
const CHANGES = named('Changes');

const PARTS: Schemas = {
  Message: {
    ...AS_UPSTREAM,
    description:
      'As the messaging service shows it; of one that is deleted, its last form as far as it is kept.',
  },
  Contact: { ...AS_UPSTREAM, description: 'As the messaging service shows it.' },
  Changes: {
    type: 'object',
    description:
      'What is different, by field. `from` is absent where it is no longer kept, and where a contact had no such field. ' +
      'Where the field went, `to` is null of a message, and absent of a contact.',
    additionalProperties: { type: 'object', properties: { from: {}, to: {} }, additionalProperties: false },
    example: { 'status.delivered': { from: false, to: true } },
  },
};

/** Of a message that is one of our sends: which; `duplicate` if that was asked to go out once more, and did. */
const OURS = { sendId: TEXT, duplicate: TRUE };
const seen = dataOf({ contactId: TEXT, message: MESSAGE }, OURS);
const changed = dataOf({ contactId: TEXT, message: MESSAGE, changes: CHANGES }, OURS);
const send = dataOf({ send: { $ref: getSchemaPath(SendView) } });
const outage = dataOf({ since: INSTANT, reason: TEXT });

const DATA: Readonly<Record<EventType, Schema>> = {
  'message.received': seen,
  'message.sent': seen,
  'message.created': seen,
  'message.delivered': changed,
  'message.read': changed,
  'message.updated': changed,
  'message.deleted': changed,
  'contact.created': dataOf({ contact: CONTACT, changes: CHANGES }),
  'contact.updated': dataOf({ contact: CONTACT, changes: CHANGES }),
  'contact.deleted': dataOf({ contact: CONTACT, changes: CHANGES }),
  'contact.resynced': dataOf({ contactId: TEXT, reason: TEXT }),
  'send.accepted': send,
  'send.unconfirmed': send,
  'send.sent': send,
  'send.failed': send,
  'send.unknown': send,
  'send.cancelled': send,
  'send.expired': send,
  'upstream.unavailable': outage,
  'upstream.recovered': outage,
  'account.suspect': dataOf({ reason: TEXT, count: { type: 'integer' } }, { contactId: TEXT }),
  'webhook.disabled': dataOf({ webhook: named('WebhookWithoutHeaders'), reason: TEXT }),
  'webhook.test': dataOf({ webhookId: TEXT }),
};

/** The name of the schema of a type's events. */
export function eventSchemaName(type: EventType): string {
  const words = type.split('.').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

/** Every type of event as a schema, and what they share. @param schemas of the views that events carry */
export function eventSchemas(schemas: Schemas): Schemas {
  return {
    ...PARTS,
    WebhookWithoutHeaders: without(schemas[WebhookView.name], 'headers'),
    ...Object.fromEntries(EVENT_TYPES.map((type) => [eventSchemaName(type), eventOf(type)])),
  };
}

/** An event of any type. */
export const ANY_EVENT: Schema = {
  oneOf: EVENT_TYPES.map((type) => named(eventSchemaName(type))),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, named(eventSchemaName(type)).$ref])),
  },
};

function eventOf(type: EventType): Schema {
  const ofContact = type.startsWith('message.') || type.startsWith('contact.');
  return objectOf(
    {
      id: {
        ...TEXT,
        example: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796',
        description: 'Deduplicate on it.',
      },
      type: { type: 'string', enum: [type] },
      timestamp: { ...INSTANT, description: 'When it was recorded.' },
      account: { ...TEXT, example: 'default' },
      ...(ofContact ? { contactId: TEXT } : {}),
      sequence: {
        type: 'integer',
        minimum: 1,
        example: 17,
        description: ofContact ? 'Counts up by one per contact.' : 'Counts up by one per account.',
      },
      data: DATA[type],
    },
    {},
  );
}

function dataOf(required: Schemas, optional: Schemas = {}): Schema {
  return objectOf(required, optional);
}

function objectOf(required: Schemas, optional: Schemas): Schema {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}

function named(name: string): { $ref: string } {
  return { $ref: getSchemaPath(name) };
}

function without(schema: Schema | undefined, field: string): Schema {
  if (schema === undefined || '$ref' in schema) throw new Error('a schema that is needed is not there');
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => name !== field);
  return {
    ...schema,
    required: (schema.required ?? []).filter((name) => name !== field),
    properties: Object.fromEntries(properties),
  };
}
