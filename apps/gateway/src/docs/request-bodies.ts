import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from './operations.js';

type Schema = Exclude<
  NonNullable<NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string]>,
  { $ref: string }
>;

/** A valid request body for each model. Only its ids must be replaced. */
export const REQUEST_EXAMPLES: Readonly<Record<string, object>> = {
  NewSend: { phoneNumber: '+15551230001', message: 'Your parcel is here.', reference: 'order-1041' },
  NewSendForm: { phoneNumber: '+15551230001', message: 'Your parcel is here.' },
  SendResolution: { outcome: 'sent' },
  SendsResolution: { ids: ['snd_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e'], outcome: 'resend' },
  NewWebhook: { url: 'https://example.com/tidings', eventTypes: ['message.*'] },
  WebhookChanges: { enabled: true },
  SecretRotation: { overlapSeconds: 86_400 },
  NewDelivery: { eventId: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796' },
  NewReplay: { since: '2026-01-31T09:00:00Z', only: 'failed' },
  NewAccount: { id: 'sales', baseUrl: 'https://messages.example.com/v1', apiKey: 'the-key-of-the-account' },
  AccountChanges: { requestsPerSecond: 5 },
  SeenRequest: { upTo: 'msg_f5124f487dbe7ba5' },
  NewToken: { scopes: ['messages:read', 'events:read'], contactIds: ['c_1'], expiresInSeconds: 900 },
  NewApiKey: { account: 'default', scopes: ['messages:send'], name: 'Order service' },
};

/** Bodies in which null is a value of its own. In any other JSON body, null counts as an omitted field. */
const NULL_IS_A_VALUE: ReadonlySet<string> = new Set(['WebhookChanges']);

/**
 * Completes the request bodies of the document: adds an example of each, documents that unknown fields are rejected
 * (except those of sends) and that optional fields may be null, and moves default values into the descriptions.
 * Default values are moved because client generators treat a field with a default as required.
 */
export function describeRequestBodies(document: OpenAPIObject): void {
  for (const { operation } of operationsOf(document)) {
    if (operation.requestBody === undefined || '$ref' in operation.requestBody) continue;
    for (const [type, media] of Object.entries(operation.requestBody.content)) {
      const { schema } = media;
      const name = schema !== undefined && '$ref' in schema ? (schema.$ref.split('/').at(-1) ?? '') : '';
      const body = document.components?.schemas?.[name];
      if (body === undefined || '$ref' in body) continue;
      media.example = REQUEST_EXAMPLES[name];
      body.additionalProperties ??= false;
      for (const field of Object.values(body.properties ?? {}))
        if (!('$ref' in field)) describeDefault(field);
      if (type === 'application/json' && !NULL_IS_A_VALUE.has(name)) allowNull(body);
    }
  }
}

/** Documents that each optional field may be null. */
function allowNull({ properties = {}, required = [] }: Schema): void {
  for (const [name, field] of Object.entries(properties)) {
    if ('$ref' in field || required.includes(name)) continue;
    const nullable: object = {
      type: [field.type ?? 'string', 'null'].flat(),
      ...(field.enum === undefined ? {} : { enum: [...(field.enum as unknown[]), null] }),
    };
    Object.assign(field, nullable);
  }
}

function describeDefault(field: Schema): void {
  if (field.default === undefined) return;
  const value = `Default: \`${String(field.default)}\`.`;
  field.description = field.description === undefined ? value : `${field.description} ${value}`;
  delete field.default;
}
