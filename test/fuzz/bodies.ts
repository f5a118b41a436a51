import fc from 'fast-check';
import { anyCharacter } from '../support/any-character.js';
import type { ApiCheck, ApiOperation, ApiSchema } from '../support/openapi.js';
import { hostileName, hostileValue } from './hostile-values.js';

/** The bytes of a body, and its declared content type. */
export interface RawBody {
  type: string | undefined;
  bytes: Buffer;
}

const NO_BODY: RawBody = { type: undefined, bytes: Buffer.alloc(0) };
const BOUNDARY = 'b0undary';

/** Bodies for an operation: valid ones, nearly valid ones, and unrelated ones. */
export function bodiesFor(check: ApiCheck, operation: ApiOperation): fc.Arbitrary<RawBody> {
  const content = operation.requestBody?.content ?? {};
  const json = objectsFor(check, content['application/json']?.schema ?? {});
  const bodies = [
    { weight: 2, arbitrary: fc.constant(NO_BODY) },
    { weight: 10, arbitrary: json.map((value) => jsonBody(JSON.stringify(value))) },
    { weight: 3, arbitrary: hostileJson },
    {
      weight: 1,
      arbitrary: fc.tuple(hostileType, json).map(([type, value]) => jsonBody(JSON.stringify(value), type)),
    },
    { weight: 1, arbitrary: formsWith(['phoneNumber', 'file']) },
  ];
  const form = content['multipart/form-data'];
  if (form === undefined) return fc.oneof(...bodies);
  const names = Object.keys(check.resolved(form.schema).properties ?? {});
  return fc.oneof(...bodies, { weight: 8, arbitrary: formsWith(names) });
}

function jsonBody(text: string, type = 'application/json'): RawBody {
  return { type, bytes: Buffer.from(text) };
}

/** Objects of a schema. Each field is valid, hostile or missing, and there may be additional fields. */
function objectsFor(check: ApiCheck, schema: ApiSchema): fc.Arbitrary<unknown> {
  const { properties = {} } = check.resolved(schema);
  const fields = Object.entries(properties).map(([name, field]) => {
    const honest = honestValue(check.resolved(field), name);
    return fc
      .oneof(
        { weight: 6, arbitrary: honest },
        { weight: 2, arbitrary: hostileValue },
        { weight: 2, arbitrary: ABSENT },
      )
      .map((value) => [name, value] as const);
  });
  const others = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.tuple(hostileName, hostileValue), { maxLength: 3 }) },
  );
  return fc
    .tuple(fc.tuple(...fields), others)
    .map(([known, more]) => Object.fromEntries([...known, ...more].filter(([, value]) => value !== MISSING)));
}

const MISSING = Symbol('missing');
const ABSENT = fc.constant<unknown>(MISSING);

/** Values that the gateway probably accepts. */
function honestValue(schema: ApiSchema, name: string): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.example !== undefined) return fc.constant(schema.example);
  if (schema.format === 'date-time')
    return fc.constantFrom('2030-01-31T09:00:00Z', '2031-01-31T09:00:00+01:00');
  if (/url/i.test(name)) return fc.constant('http://127.0.0.1:9/hook');
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return fc.constantFrom(1, 5);
    case 'array':
      return fc.array(fc.constantFrom('snd_0', 'message.*', 'x'), { minLength: 1, maxLength: 3 });
    case 'object':
      return fc.constant({ a: '1' });
    case undefined:
    default:
      return fc.string({ minLength: 1, maxLength: 20 });
  }
}

/** Invalid or unusual JSON. */
const hostileJson: fc.Arbitrary<RawBody> = fc.oneof(
  hostileValue.map((value) => jsonBody(JSON.stringify(value))),
  fc
    .constantFrom(
      '',
      '{',
      '{"a":',
      '[1,2',
      '{"a":1e999}',
      '{"a":-1e999}',
      '{"limit":123456789012345678901234567890}',
      '{"message":"\\ud800"}',
      '{"phoneNumber":"+14155550123","phoneNumber":null}',
      '{"__proto__":{"admin":true}}',
      '{"constructor":{"prototype":{"x":1}}}',
      '\ufeff{}',
      "{'a':1}",
      '{"a":NaN}',
      '//\n{}',
      '{}{}',
      'null',
      '0',
    )
    .map((text) => jsonBody(text)),
  fc.constantFrom(100, 20_000).map((levels) => jsonBody('['.repeat(levels) + ']'.repeat(levels))),
  fc.constant(jsonBody(`{"a":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_001)}`)),
  fc
    .constantFrom(1_048_570, 1_100_000)
    .map((length) => jsonBody(JSON.stringify({ message: 'x'.repeat(length) }))),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ type: 'application/json', bytes: Buffer.from(bytes) })),
  fc.constant({ type: 'application/json', bytes: Buffer.from('{"message":"x"}', 'utf16le') }),
  fc.constant({ type: 'application/json', bytes: Buffer.from([0x22, 0xc3, 0x28, 0x22]) }),
);

const hostileType = fc.constantFrom(
  'application/json; charset=utf-16',
  'application/json; charset="UTF-8"',
  'application/json;',
  'application/json, application/json',
  'APPLICATION/JSON',
  'application/problem+json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/mixed; boundary=x',
  '*/*',
  '/',
  'x'.repeat(300),
  '',
);

/** Multipart forms with these and other parts, complete and broken. */
function formsWith(names: readonly string[]): fc.Arbitrary<RawBody> {
  const name = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: hostileName },
  );
  const value = fc.oneof(
    fc.constantFrom(
      '+14155550123',
      'Hello',
      'text',
      '{"a":1}',
      '',
      '2030-01-31T09:00:00Z',
      '\0',
      'x'.repeat(300_000),
    ),
    fc.string({ unit: anyCharacter, maxLength: 30 }),
  );
  const file = fc.constantFrom<string | undefined>(
    undefined,
    'a.txt',
    '',
    '../../x',
    'a"b',
    '\0',
    'ü'.repeat(200),
  );
  const header = fc.constantFrom(
    '',
    'Content-Type: image/png\r\n',
    'Content-Type: \0\r\n',
    'X:\r\n',
    ':\r\n',
    '\xff\r\n',
  );
  const part = fc.tuple(name, value, file, header).map(partOf);
  const parts = fc.oneof(
    { weight: 20, arbitrary: fc.array(part, { maxLength: 8 }) },
    { weight: 3, arbitrary: part.map((one) => [one, one]) },
    { weight: 1, arbitrary: part.map((one) => Array<string>(one.length > 1_000 ? 40 : 10_000).fill(one)) },
  );
  const end = fc.oneof(
    { weight: 6, arbitrary: fc.constant(`--${BOUNDARY}--\r\n`) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('', `--${BOUNDARY}`, `--${BOUNDARY}-`, `--${BOUNDARY}\r\n`, '\0'),
    },
  );
  const type = fc.oneof(
    { weight: 12, arbitrary: fc.constant(`multipart/form-data; boundary=${BOUNDARY}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'multipart/form-data',
        'multipart/form-data; boundary=other',
        'multipart/form-data; boundary=""',
      ),
    },
  );
  return fc
    .tuple(parts, end, type)
    .map(([all, last, said]) => ({ type: said, bytes: Buffer.from(all.join('') + last, 'latin1') }));
}

function partOf([name, value, file, header]: [string, string, string | undefined, string]): string {
  const named = file === undefined ? '' : `; filename="${file}"`;
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${named}\r\n${header}\r\n${value}\r\n`;
}
