import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { SendDto, SendFormDto } from '../messages/send.dto.js';
import { EventView } from '../events/events.dto.js';
import { ProblemDto } from '../problems/api-problems.js';
import { ANY_EVENT, eventSchemas } from './event-docs.js';
import { describeReplyHeaders } from './reply-headers.js';
import { describeWebhooks } from './webhook-docs.js';

const DESCRIPTION = `Sends that are never lost or doubled, and events, for a messaging service that has neither.

Authorize with your API key. Every error is \`application/problem+json\`, with a \`code\` to decide by.`;

/** A field of a send that nobody documented. */
const EXTRA_FIELD = {
  type: ['string', 'number', 'boolean', 'null'],
  description: 'Handed on to the messaging service as a part of its form, as text.',
};

/** Serves the document at `/docs/openapi.json`, and a page to read and try it at `/docs`. Nothing comes from elsewhere. */
export function serveDocs(app: NestFastifyApplication): void {
  SwaggerModule.setup('docs', app, describeApi(app), {
    raw: ['json'],
    jsonDocumentUrl: 'docs/openapi.json',
    customSiteTitle: 'Tidings',
    // The key is not remembered: it would stand in the browser's storage, for whoever uses it next.
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true },
  });
}

/** The OpenAPI document of the routes as they are. */
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
  // The decorators know one schema for all encodings; a form has a part more.
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
  // Nor can they say what further fields may be.
  for (const { name } of [SendDto, SendFormDto]) {
    Object.assign(schemas[name] ?? {}, { additionalProperties: EXTRA_FIELD });
  }
  Object.assign(schemas, eventSchemas(schemas), { [EventView.name]: ANY_EVENT });
  describeReplyHeaders(document);
  return { ...document, webhooks: describeWebhooks() };
}
