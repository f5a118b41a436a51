import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { SendDto, SendFormDto } from '../messages/send.dto.js';
import { EventView } from '../events/events.dto.js';
import { ProblemDto } from '../problems/api-problems.js';
import { ANY_EVENT, eventSchemas } from './event-docs.js';
import { describeReplyHeaders } from './reply-headers.js';
import { describeWebhooks } from './webhook-docs.js';

const DESCRIPTION = `Tidings stands in front of a messaging service. Tidings sends each message reliably, without loss or duplicates, and emits events for new and changed messages.

Send your API key in the \`X-API-Key\` header. Every error response is \`application/problem+json\` with a \`code\` for programs.`;

/** Schema of an undocumented field of a send. */
const EXTRA_FIELD = {
  type: ['string', 'number', 'boolean', 'null'],
  description: 'Any undocumented field is passed on to the messaging service as a form field.',
};

/** Serves the OpenAPI document at `/docs/openapi.json` and Swagger UI at `/docs`. All assets come from this server. */
export function serveDocs(app: NestFastifyApplication): void {
  // Built at the first request: a start would pay for a document that few processes ever show.
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    raw: ['json'],
    jsonDocumentUrl: 'docs/openapi.json',
    customSiteTitle: 'Tidings',
    // The browser must not store the API key, because another user of the browser could read it.
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true },
  });
}

/** Creates the OpenAPI document from the registered routes. */
export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const frame = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Tidings')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, 'apiKey')
    .addSecurityRequirements('apiKey')
    .build();
  const document = SwaggerModule.createDocument(app, frame, {
    extraModels: [ProblemDto, SendDto, SendFormDto, EventView],
  });
  const send = document.paths['/v1/messages/send']?.post;
  // Decorators allow only one schema for all content types, but a form has the additional part `file`.
  if (send !== undefined) {
    send.requestBody = {
      required: true,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(SendDto) } },
        'multipart/form-data': { schema: { $ref: getSchemaPath(SendFormDto) } },
      },
    };
  }
  const schemas = document.components?.schemas ?? {};
  // Decorators cannot describe additional fields.
  for (const { name } of [SendDto, SendFormDto]) {
    Object.assign(schemas[name] ?? {}, { additionalProperties: EXTRA_FIELD });
  }
  Object.assign(schemas, eventSchemas(schemas), { [EventView.name]: ANY_EVENT });
  describeReplyHeaders(document);
  return { ...document, webhooks: describeWebhooks() };
}
