import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType } from '#events';
import { WorkerEnvironment } from '#platform';
import { MAX_EXCERPT_BYTES } from '#webhooks';
import { eventSchemaName } from './event-docs.js';

type Webhooks = NonNullable<OpenAPIObject['webhooks']>;
type ParameterObject = Extract<NonNullable<Operation['parameters']>[number], { name: string }>;
type Operation = NonNullable<Webhooks[string]['post']>;

const EXCERPT = `${MAX_EXCERPT_BYTES / 1_024} KB`;
const TIMEOUT_SECONDS = new WorkerEnvironment().WEBHOOK_TIMEOUT_MS / 1_000;

const HEADERS: Readonly<Record<string, string>> = {
  'webhook-id': 'Id of the event, the same for every attempt. Subscribers use this id to ignore duplicates.',
  'webhook-timestamp': "Time of the attempt by Redis' clock, in seconds since 1970.",
  'webhook-signature':
    'Signatures according to Standard Webhooks 1.0, separated by spaces: one signature for each valid signing secret. ' +
    'A signature consists of `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`.',
};

const OPTIONAL_HEADERS: Readonly<Record<string, string>> = {
  traceparent:
    'Trace id and span id of the attempt, in the format of W3C Trace Context. The header `traceparent` is present if the event belongs to a trace.',
};

/** Returns the webhooks section of the OpenAPI document, with one entry per event type. */
export function describeWebhooks(): Webhooks {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: deliveryOf(type) }]));
}

function headers(described: Readonly<Record<string, string>>, required: boolean): ParameterObject[] {
  return Object.entries(described).map(([name, description]) => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type: 'string' },
  }));
}

function deliveryOf(type: EventType): Webhooks[string]['post'] & object {
  return {
    operationId: `on-${type}`,
    summary: `Delivery of a ${type} event`,
    tags: ['Webhooks'],
    // A delivery has a signature instead of an API key.
    security: [],
    parameters: [...headers(HEADERS, true), ...headers(OPTIONAL_HEADERS, false)],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(eventSchemaName(type)) },
        },
      },
    },
    responses: {
      '2XX': {
        description:
          `The delivery succeeded if the response, or the first ${EXCERPT} of its body, arrives in time ` +
          `(\`WEBHOOK_TIMEOUT_MS\`, ${TIMEOUT_SECONDS} seconds by default). Tidings stores the first ${EXCERPT} with the ` +
          'attempt, and does not read the rest.',
      },
      '410': {
        description:
          'The status 410 means that your server no longer accepts events at this URL. Tidings disables the webhook.',
      },
      '429': {
        description:
          'The status 429 means that your server is overloaded. Tidings sends fewer requests and takes `Retry-After` into account.',
      },
      '503': {
        description:
          'The status 503 means that your server is unavailable. Tidings retries the delivery and takes `Retry-After` into account.',
      },
      default: {
        description:
          'The attempt failed. Tidings retries on its schedule, also after a status 4xx. Redirects are not followed.',
      },
    },
  };
}
