import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType } from '#events';
import { eventSchemaName } from './event-docs.js';

type Webhooks = NonNullable<OpenAPIObject['webhooks']>;

const HEADERS: Readonly<Record<string, string>> = {
  'webhook-id': "The event's id, the same for every attempt: deduplicate on it.",
  'webhook-timestamp': 'When the attempt was made, in seconds since 1970.',
  'webhook-signature':
    '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, as Standard Webhooks 1.0 says; one for each secret that ' +
    'is valid, separated by a space.',
};

/** What subscribers are sent, one entry a type of event. */
export function describeWebhooks(): Webhooks {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: deliveryOf(type) }]));
}

function deliveryOf(type: EventType): Webhooks[string]['post'] & object {
  return {
    operationId: `on-${type}`,
    summary: `An event of the type ${type}`,
    tags: ['Webhooks'],
    // Signed, instead of a key.
    security: [],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(eventSchemaName(type)) },
        },
      },
    },
    responses: {
      '2XX': { description: 'Taken. Its body is not looked at.' },
      '410': { description: 'No more of these: the webhook is disabled.' },
      '429': { description: 'Not so fast: the webhook is slowed down, and `Retry-After` kept.' },
      '503': { description: 'Later: `Retry-After` is kept.' },
      default: { description: 'Not taken: tried again on the schedule. Redirects are not followed.' },
    },
  };
}
