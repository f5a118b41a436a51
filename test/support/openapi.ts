import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The used parts of an OpenAPI document. */
export interface ApiDocument {
  paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  webhooks: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  components: {
    schemas: Readonly<Record<string, unknown>>;
    responses: Readonly<Record<string, ApiResponse>>;
  };
}

export interface ApiOperation {
  operationId: string;
  parameters?: readonly { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: {
    required?: boolean;
    content: Readonly<Record<string, { schema: object; example?: unknown }>>;
  };
  responses: Readonly<Record<string, ApiResponse | { $ref: string }>>;
  security?: readonly object[];
}

/** The parts of a JSON schema from which tests create values. */
export interface ApiSchema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, ApiSchema>;
  required?: string[];
  items?: ApiSchema;
  enum?: unknown[];
  example?: unknown;
  default?: unknown;
  format?: string;
}

interface ApiResponse {
  headers?: Readonly<Record<string, { required?: boolean; schema: object }>>;
  content?: Readonly<Record<string, { schema: object }>>;
}

/** A reply as a caller received it. */
export interface ReceivedReply {
  method: string;
  /** Path of the request, including its query. */
  path: string;
  status: number;
  headers: Headers;
  /** Undefined for a stream, whose body is not read. */
  body: string | undefined;
}

/** Headers with a meaning for callers: each must be documented wherever it is sent. */
const CALLER_HEADERS = [
  'location',
  'retry-after',
  'x-request-id',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'idempotent-replayed',
  'age',
] as const;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Checks replies and deliveries against the OpenAPI document. Objects may have no undocumented fields. */
export class ApiCheck {
  private readonly ajv: Ajv2020;
  private readonly routes: readonly { template: string; pattern: RegExp }[];
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(readonly document: ApiDocument) {
    this.ajv = new Ajv2020({
      strict: false,
      allErrors: false,
      discriminator: true,
      formats: { binary: true },
      // The document is no schema itself, and its validators run too seldom to repay an optimization.
      validateSchema: false,
      code: { optimize: false },
    });
    formats.default(this.ajv);
    this.ajv.addSchema(withoutExtraFields(document) as object, 'api');
    this.routes = Object.keys(document.paths)
      // A literal path takes precedence over a path with a parameter.
      .sort((a, b) => (a.replaceAll('{', '~') < b.replaceAll('{', '~') ? -1 : 1))
      .map((template) => ({ template, pattern: patternOf(template) }));
  }

  /** The schema itself, or the schema that it refers to. */
  resolved(schema: ApiSchema): ApiSchema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : (this.document.components.schemas[name] ?? {});
  }

  /** Every operation of the document. */
  operations(): { path: string; method: (typeof METHODS)[number]; operation: ApiOperation }[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const operation = item[method];
        return operation === undefined ? [] : [{ path, method, operation }];
      }),
    );
  }

  /** The documented path that matches a URL path. */
  pathOf(address: string): string | undefined {
    const path = address.split('?', 1)[0] ?? '';
    return this.routes.find(({ pattern }) => pattern.test(path))?.template;
  }

  /** @throws {Error} if the document does not allow this reply of a documented operation */
  expectReply(reply: ReceivedReply): void {
    const { status, headers, body } = reply;
    const path = this.pathOf(reply.path);
    const method = reply.method === 'HEAD' ? 'get' : reply.method.toLowerCase();
    const operation = path === undefined ? undefined : this.document.paths[path]?.[method];
    if (path === undefined || operation === undefined) return;
    const where = `${reply.method} ${reply.path.slice(0, 200)} answered ${status}`;
    const [response, place] = this.responseAt(path, method, operation, status);
    if (response === undefined)
      throw new Error(`${where}, an undocumented status: ${body?.slice(0, 500) ?? ''}`);
    for (const name of CALLER_HEADERS) {
      const documented = Object.entries(response.headers ?? {}).find(
        ([known]) => known.toLowerCase() === name,
      );
      if (headers.has(name) && documented === undefined)
        throw new Error(`${where} with the undocumented header ${name}`);
      if (!headers.has(name) && documented?.[1].required === true)
        throw new Error(`${where} without ${name}`);
    }
    if (body === undefined || reply.method === 'HEAD') return;
    const type = (headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
    if (response.content === undefined) {
      if (body !== '') throw new Error(`${where} with an undocumented body: ${body.slice(0, 500)}`);
      return;
    }
    if (!Object.hasOwn(response.content, type))
      throw new Error(`${where} with the undocumented content type "${type}"`);
    this.expectValid(where, [...place, 'content', type, 'schema'], body, type);
  }

  /** Returns a documented response, and its place in the document. */
  private responseAt(
    path: string,
    method: string,
    { responses }: ApiOperation,
    status: number,
  ): [response: ApiResponse | undefined, place: string[]] {
    const response = responses[status];
    if (response === undefined || !('$ref' in response))
      return [response, ['paths', path, method, 'responses', String(status)]];
    const name = response.$ref.split('/').at(-1) ?? '';
    return [this.document.components.responses[name], ['components', 'responses', name]];
  }

  /** @throws {Error} if the document does not allow this body of a delivery */
  expectDelivery(type: string, body: string): void {
    if (this.document.webhooks[type] === undefined) throw new Error(`${type} is not a documented webhook`);
    const place = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'];
    this.expectValid(`the event ${type}`, place, body);
  }

  /** The validation error of a value for the schema at a path of the document, or undefined. */
  validationError(place: readonly string[], value: unknown): string | undefined {
    const validate = this.validatorAt(place);
    return validate(value) ? undefined : this.ajv.errorsText(validate.errors);
  }

  private expectValid(
    where: string,
    place: readonly string[],
    body: string,
    type = 'application/json',
  ): void {
    const fault = this.validationError(place, type.endsWith('json') ? JSON.parse(body) : body);
    if (fault !== undefined)
      throw new Error(`${where} with an invalid body: ${fault}: ${body.slice(0, 1000)}`);
  }

  private validatorAt(place: readonly string[]): ValidateFunction {
    const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const reference = `api#/${pointer.join('/')}`;
    const found = this.validators.get(reference) ?? this.ajv.compile({ $ref: reference });
    this.validators.set(reference, found);
    return found;
  }
}

const checks = new Map<string, ApiCheck>();

/** The check for a document. Each document is compiled once. */
export function apiCheckOf(document: string): ApiCheck {
  const found = checks.get(document) ?? new ApiCheck(JSON.parse(document) as ApiDocument);
  checks.set(document, found);
  return found;
}

/** Returns the reply after a check against the document. The body of a stream is not read. */
export async function checkedReply(
  check: ApiCheck,
  method: string,
  path: string,
  reply: Response,
): Promise<Response> {
  const { status, headers } = reply;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const body = isStream ? undefined : await reply.clone().text();
  check.expectReply({ method, path, status, headers, body });
  return reply;
}

function patternOf(template: string): RegExp {
  const literal = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replace(/\{\w+\}/g, '[^/]+')}$`);
}

/** Forbids undocumented fields in every object schema that does not define additional properties. */
function withoutExtraFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutExtraFields);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value)
      // ajv does not support `mapping`; it selects the schema by the value of `type`.
      .filter(([key]) => key !== 'mapping')
      .map(([key, item]) => [key, withoutExtraFields(item)]),
  );
  const types = [copy.type].flat();
  if (types.includes('object') && isSchemaMap(copy.properties) && copy.additionalProperties === undefined) {
    copy.additionalProperties = false;
  }
  return copy;
}

function isSchemaMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
