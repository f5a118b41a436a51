import type { ApiCheck, ApiOperation, ApiSchema } from './openapi.js';

/** A valid request of one operation. */
export interface SampleRequest {
  operationId: string;
  method: string;
  path: string;
  body?: object;
}

/** Ids of existing objects by the resource in the path: `sends` for `/v1/sends/{id}`. */
export type SampleIds = Readonly<Record<string, string>>;

/** One request of every documented operation under `/v1`. Operations that remove objects come last. */
export function sampleRequests(check: ApiCheck, ids: SampleIds): SampleRequest[] {
  const versioned = check.operations().filter(({ path }) => path.startsWith('/v1/'));
  const requests = versioned.map(({ path, method, operation }) => {
    const [, resource = ''] = /^\/v1\/([\w-]+)/.exec(path) ?? [];
    const id = ids[resource];
    if (path.includes('{id}') && id === undefined) throw new Error(`there is no sample id for ${path}`);
    const body = bodyOf(check, operation);
    return {
      operationId: operation.operationId,
      method: method.toUpperCase(),
      path: path.replace('{id}', encodeURIComponent(id ?? '')),
      ...(body === undefined ? {} : { body }),
    };
  });
  return [
    ...requests.filter(({ method }) => method !== 'DELETE'),
    ...requests.filter(({ method }) => method === 'DELETE'),
  ];
}

function bodyOf(check: ApiCheck, { requestBody }: ApiOperation): object | undefined {
  const schema = requestBody?.content['application/json']?.schema;
  return schema === undefined ? undefined : (sampleOf(check, schema, '') as object);
}

function sampleOf(check: ApiCheck, given: ApiSchema, name: string): unknown {
  const schema = check.resolved(given);
  // An address at which no server listens, so that a delivery reaches nobody.
  if (/url$/i.test(name)) return 'http://127.0.0.1:9/sample';
  if (schema.example !== undefined) return schema.example;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.format === 'date-time') return '2026-01-01T00:00:00Z';
  const [type] = [schema.type].flat();
  if (type === 'array') return [sampleOf(check, schema.items ?? {}, '')];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return 1;
  if (schema.properties === undefined) return type === 'object' ? {} : 'sample';
  const wanted = Object.entries(schema.properties).filter(
    ([field]) => schema.required?.includes(field) === true || field === 'message' || field === 'description',
  );
  return Object.fromEntries(wanted.map(([field, property]) => [field, sampleOf(check, property, field)]));
}
