import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type GatewayEnvironment, productVersion } from '#platform';
import { SECURITY_SCHEMES } from '../auth/require-scope.js';
import { SendDto, SendFormDto } from '../messages/send.dto.js';
import { EventView } from '../events/events.dto.js';
import { ProblemDto } from '../problems/api-problems.js';
import { ENVIRONMENT } from '../tokens.js';
import { serveDocsPage } from './docs-page.js';
import { ANY_EVENT, eventSchemas } from './event-docs.js';
import { describeReplyHeaders } from './reply-headers.js';
import { describeRequestBodies } from './request-bodies.js';
import { schemaNameOf } from './schema-name.js';
import { shareProblems } from './shared-problems.js';
import { TAGS } from './tags.js';
import { UPSTREAM_SCHEMAS } from './upstream-schemas.js';
import { describeWebhooks } from './webhook-docs.js';

const DESCRIPTION = `Tidings is a gateway to a messaging service. Tidings stores each send before it responds, and repeats a request to the messaging service only if the recipient cannot get the message twice, or if you or the operator ask for it. Tidings emits events for new and changed messages.

Send your API key in the \`X-API-Key\` header. Instead of an API key, a browser sends a token in the header \`Authorization: Bearer\`. Every error response is \`application/problem+json\` with a machine-readable \`code\`.`;

const EXTRA_FIELDS =
  'A text or a file to send. An undocumented field whose value is a text, number or boolean is passed on to the messaging service as a form field. An undocumented field with the value null is ignored. A token that is restricted to contacts cannot use undocumented fields.';

const AS_UPSTREAM_SENDS_IT =
  'The contact list exactly as the messaging service returns it, because `CONTACTS_SHAPE` is `upstream`.';

const LICENSE = { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' };

/** Serves the OpenAPI document at `/docs/openapi.json`, and the page about it at `/docs`. */
export function serveDocs(app: NestFastifyApplication): void {
  // The document is built at the first request, because building it takes time at the start, and few processes ever
  // serve it.
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    ui: false,
    raw: ['json'],
    jsonDocumentUrl: 'docs/openapi.json',
  });
  serveDocsPage(app);
}

/** Creates the OpenAPI document from the registered routes and the settings of the gateway. */
export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const { CONTACTS_SHAPE } = app.get<GatewayEnvironment>(ENVIRONMENT);
  const frame = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Tidings')
    .setDescription(DESCRIPTION)
    .setVersion(productVersion())
    .addServer('/', 'This gateway')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, SECURITY_SCHEMES.apiKey)
    .addSecurity(SECURITY_SCHEMES.token, {
      type: 'http',
      scheme: 'bearer',
      description: 'A token for browsers, from `POST /v1/tokens`.',
    })
    .addSecurityRequirements(SECURITY_SCHEMES.apiKey)
    .build();
  const document = SwaggerModule.createDocument(app, frame, {
    extraModels: [ProblemDto, SendDto, SendFormDto, EventView],
  });
  Object.assign(document.info, { license: LICENSE });
  document.tags = [...TAGS];
  const schemas = document.components?.schemas ?? {};
  Object.assign(schemas, UPSTREAM_SCHEMAS, eventSchemas(schemas), { [schemaNameOf(EventView)]: ANY_EVENT });
  if (CONTACTS_SHAPE === 'upstream') schemas['ContactList'] = { description: AS_UPSTREAM_SENDS_IT };
  useSingleSchemas(schemas);
  describeSend(document);
  describeRequestBodies(document);
  describeReplyHeaders(document);
  shareProblems(document);
  return { ...document, webhooks: describeWebhooks() };
}

/**
 * Replaces each list of a single schema (`oneOf`) by that schema. Decorators can refer to a schema without a class
 * only in such a list.
 */
function useSingleSchemas(schemas: NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>): void {
  for (const schema of Object.values(schemas)) {
    if ('$ref' in schema) continue;
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const [only, ...others] = ('oneOf' in property ? property.oneOf : undefined) ?? [];
      if (schema.properties !== undefined && only !== undefined && others.length === 0)
        schema.properties[name] = only;
    }
  }
}

/** Documents both content types of a send request. Decorators allow only one schema for all content types. */
function describeSend({ paths, components }: OpenAPIObject): void {
  const send = paths['/v1/messages/send']?.post;
  if (send !== undefined) {
    send.requestBody = {
      required: true,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(SendDto) } },
        'multipart/form-data': { schema: { $ref: getSchemaPath(SendFormDto) } },
      },
    };
  }
  // Decorators cannot describe additional fields.
  for (const model of [SendDto, SendFormDto])
    Object.assign(components?.schemas?.[schemaNameOf(model)] ?? {}, {
      additionalProperties: true,
      description: EXTRA_FIELDS,
    });
}
