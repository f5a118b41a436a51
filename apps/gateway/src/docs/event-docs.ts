import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType } from '#events';
import { SendView } from '../sends/send.view.js';
import { WebhookView } from '../webhooks/webhooks.dto.js';
import { schemaNameOf } from './schema-name.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];

const TEXT: Schema = { type: 'string' };
const INSTANT: Schema = { type: 'string', format: 'date-time' };
const TRUE: Schema = { type: 'boolean', enum: [true] };
const MESSAGE = named('Message');
const CONTACT = named('Contact');
const CHANGES = named('Changes');

const PARTS: Schemas = {
  Changes: {
    type: 'object',
    description:
      'The changed fields, each with its old value `from` and its new value `to`. `from` is absent if a contact did not have the field before, ' +
      'and for all fields of a message except `status.delivered`, `status.read` and `deleted`, because Tidings does not store their values. If a field was removed, `to` is null in `message.*` events and absent in `contact.*` events.',
    additionalProperties: { type: 'object', properties: { from: {}, to: {} }, additionalProperties: false },
    example: { 'status.delivered': { from: false, to: true } },
  },
};

/**
 * Fields in the data of an event whose message was caused by a send of the gateway. `duplicate` marks a second
 * message of the same send, after `resend`.
 */
const SEND_FIELDS = { sendId: TEXT, reference: TEXT, duplicate: TRUE };
const seen = dataOf({ contactId: TEXT, message: MESSAGE }, SEND_FIELDS);
const changed = dataOf({ contactId: TEXT, message: MESSAGE, changes: CHANGES }, SEND_FIELDS);
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

/** When an event is emitted and, where it matters, what a subscriber does with it. */
const MEANINGS: Readonly<Record<EventType, string>> = {
  'message.received': 'A contact sent a message.',
  'message.sent':
    'A new outbound message appeared at the messaging service. If Tidings sent the message, `sendId` is the id of the send, and `reference` is your own id for the send.',
  'message.created': 'A message with an undocumented direction appeared.',
  'message.delivered': 'A message was delivered. The event is emitted at most once per message.',
  'message.read': 'A message was read. The event is emitted at most once per message.',
  'message.updated':
    'A field of a message changed, or a message that was reported as deleted appeared again. `changes` has the changed fields with their new values and, if they are known, their old values.',
  'message.deleted': 'A message disappeared from the messaging service. Delete your copy of the message.',
  'contact.created': 'A contact appeared, or a deleted contact returned.',
  'contact.updated':
    'A field of a contact changed. `changes` has the changed fields with their old and new values, if they have any.',
  'contact.deleted': 'A contact disappeared from the messaging service. Delete your copy of the contact.',
  'contact.resynced':
    'Tidings lost its stored data about a contact and has read the contact again. Events may be missing: read the messages of the contact.',
  'send.accepted': 'The messaging service accepted the send.',
  'send.unconfirmed':
    'The message of the accepted send was not found in time. Tidings may still find the message later.',
  'send.sent':
    'Tidings found the message that the messaging service created for the send. Later events of the message report when it was delivered and read.',
  'send.failed': 'The send failed and will not be retried. `send.reason` says why it failed.',
  'send.unknown':
    'Tidings cannot find out whether the message was sent, and does not send the message again. If you know whether the message was sent, set the outcome of the send; otherwise, you can resend the message.',
  'send.cancelled': 'The send was cancelled before it was relayed.',
  'send.expired': 'The send was not relayed before `expiresAt`, or before it reached its maximum age.',
  'upstream.unavailable':
    'The messaging service is unavailable or rejects the account. Tidings relays no sends of the account until it emits the event `upstream.recovered`.',
  'upstream.recovered':
    'The messaging service is available again. Sends that waited for the messaging service are now relayed.',
  'account.suspect':
    'Many contacts or messages disappeared at once, so Tidings does not report them as deleted. If the contacts or messages were really deleted, call `POST /v1/accounts/{id}/confirm-deletions`.',
  'webhook.disabled':
    'Tidings disabled a webhook. Repair the receiver, enable the webhook, and replay missed events.',
  'webhook.test':
    'A test event that a caller requested for one webhook. Only this webhook gets the test event.',
};

/** Fields of a webhook that `webhook.*` events do not contain: headers may be secret, and the others change often. */
const NOT_IN_EVENTS = [
  'headers',
  'failingSince',
  'lastSuccessAt',
  'pausedUntil',
  'waitingSince',
  'pending',
] as const;

/** Returns the schema name of an event type. */
export function eventSchemaName(type: EventType): string {
  const words = type.split('.').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

/** Returns one schema per event type, and the schemas they share. @param schemas existing schemas of the document */
export function eventSchemas(schemas: Schemas): Schemas {
  return {
    ...PARTS,
    WebhookWithoutHeaders: without(schemas[schemaNameOf(WebhookView)], NOT_IN_EVENTS),
    ...Object.fromEntries(EVENT_TYPES.map((type) => [eventSchemaName(type), eventOf(type)])),
  };
}

/** Schema of an event of any type. */
export const ANY_EVENT: Schema = {
  oneOf: EVENT_TYPES.map((type) => named(eventSchemaName(type))),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, named(eventSchemaName(type)).$ref])),
  },
};

function eventOf(type: EventType): Schema {
  const ofContact = type.startsWith('message.') || type.startsWith('contact.');
  const schema = objectOf(
    {
      id: {
        ...TEXT,
        example: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796',
        description: 'Unique id of the event. Subscribers use this id to ignore duplicates.',
      },
      type: { type: 'string', enum: [type], description: MEANINGS[type] },
      timestamp: { ...INSTANT, description: 'Time when the event was recorded.' },
      account: { ...TEXT, example: 'default' },
      ...(ofContact ? { contactId: TEXT } : {}),
      sequence: {
        type: 'integer',
        minimum: 1,
        example: 17,
        description: ofContact
          ? 'Consecutive number of the event among the events of its contact, starting at 1.'
          : 'Consecutive number of the event among the events of its account, starting at 1.',
      },
      data: DATA[type],
    },
    {},
  );
  return { ...schema, description: MEANINGS[type] };
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

function without(schema: Schema | undefined, fields: readonly string[]): Schema {
  if (schema === undefined || '$ref' in schema)
    throw new Error('the OpenAPI document has no schema named Webhook');
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !fields.includes(name));
  return {
    ...schema,
    required: (schema.required ?? []).filter((name) => !fields.includes(name)),
    properties: Object.fromEntries(properties),
  };
}
