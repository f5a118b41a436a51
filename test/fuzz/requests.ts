import fc from 'fast-check';
import type { ApiCheck, ApiOperation } from '../support/openapi.js';
import { bodiesFor, type RawBody } from './bodies.js';
import { hostileHeader, hostileName, hostileQueryValue, hostileSegment } from './hostile-values.js';
import type { RawRequest } from './raw-http.js';

/** Input for the generated requests. */
export interface FuzzInput {
  check: ApiCheck;
  key: string;
  /** Ids of existing objects. */
  ids: readonly string[];
}

/** Requests of every operation, each with possibly invalid parts. */
export function requestsFor(input: FuzzInput): fc.Arbitrary<RawRequest> {
  return fc.oneof(...input.check.operations().map((one) => requestsOf(input, one)));
}

function requestsOf(
  { check, key, ids }: FuzzInput,
  { path, method, operation }: ReturnType<ApiCheck['operations']>[number],
): fc.Arbitrary<RawRequest> {
  const segment = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ids).map(encodeURIComponent) },
    { weight: 1, arbitrary: hostileSegment },
  );
  const address = fc
    .array(segment, { minLength: 3, maxLength: 3 })
    .map((segments) => path.replace(/\{\w+\}/g, () => segments.pop() ?? ''));
  const headers = fc.oneof(
    { weight: 60, arbitrary: fc.constant([]) },
    { weight: 20, arbitrary: fc.array(hostileHeader, { maxLength: 3 }) },
    { weight: 1, arbitrary: hostileHeader.map((one) => Array.from({ length: 300 }, () => one)) },
  );
  return fc
    .record({
      method: fc.oneof(
        { weight: 20, arbitrary: fc.constant(method.toUpperCase()) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'get', 'BREW'),
        },
      ),
      address,
      query: queriesFor(operation),
      key: fc.oneof(
        { weight: 20, arbitrary: fc.constant([key]) },
        {
          weight: 1,
          arbitrary: fc.constantFrom([], [''], ['x'.repeat(5_000)], [key, key], ['\xff'], [`${key} `]),
        },
      ),
      headers,
      body: method === 'get' ? mostlyNone(bodiesFor(check, operation)) : bodiesFor(check, operation),
      missing: fc.oneof(
        { weight: 60, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constantFrom(1, 1_000) },
      ),
    })
    .map((made) => ({
      method: made.method,
      target: `${made.address}${made.query}`,
      headers: [
        ['Host', 'gateway'] as const,
        ...made.key.map((one) => ['X-API-Key', one] as const),
        ...(made.body.type === undefined ? [] : [['Content-Type', made.body.type] as const]),
        ...made.headers,
      ],
      body: made.body.bytes,
      missing: made.missing,
    }))
    .map((request) =>
      Object.defineProperty(request, fc.toStringMethod, { value: () => describeRequest(request) }),
    );
}

/** Short text of a request for a failure report. Bodies are shortened. */
function describeRequest({ method, target, headers, body, missing }: RawRequest): string {
  const lines = [`${method} ${target}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  const start = JSON.stringify(body.subarray(0, 300).toString('latin1'));
  return [
    ...lines.map((line) => line.slice(0, 300)),
    `${body.length} bytes, ${missing} missing: ${start}`,
  ].join('\n');
}

function mostlyNone(bodies: fc.Arbitrary<RawBody>): fc.Arbitrary<RawBody> {
  const none = fc.constant({ type: undefined, bytes: Buffer.alloc(0) });
  return fc.oneof({ weight: 15, arbitrary: none }, { weight: 1, arbitrary: bodies });
}

/** Queries with known and unknown parameters, some of them repeated. */
function queriesFor({ parameters = [] }: ApiOperation): fc.Arbitrary<string> {
  const known = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  const name = fc.oneof(
    { weight: 8, arbitrary: known.length === 0 ? fc.constant('x') : fc.constantFrom(...known) },
    {
      weight: 1,
      arbitrary: hostileName.map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('limit[]', 'a[b]', 'page[$gt]', '%', '%00', 'Limit', 'x'.repeat(2_000)),
    },
  );
  const honest = fc.constantFrom('1', '20', 'now', 'message.*', 'queued', 'failed', '%2B14155550123');
  const pair = fc
    // A valid `wait` would slow the test down.
    .tuple(name, fc.oneof(honest, hostileQueryValue))
    .map(([field, value]) => (field === 'wait' && /^\d\d?$/.test(value) ? 'wait=0' : `${field}=${value}`));
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('', '', '', '?', '?&', '?=', '??', '?a&b') },
    {
      weight: 3,
      arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`),
    },
  );
}
