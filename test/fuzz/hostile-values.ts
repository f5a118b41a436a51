import fc from 'fast-check';
import { anyCharacter } from '../support/any-character.js';

/** JSON values that programs often handle wrongly. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', ' ', [], {}, [null], [[]], { id: null }),
  fc.constantFrom<unknown>(0, -0, -1, 0.5, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 53), 4_294_967_296),
  fc.constantFrom<unknown>(
    '\0',
    'a\0b',
    '\ud800',
    '\udc00x',
    '\u202e',
    '\ufeff',
    '𝕏'.repeat(50),
    'NaN',
    'null',
    '[object Object]',
    '__proto__',
    "'; DROP TABLE sends; --",
    '${7*7}',
    '../../etc/passwd',
    '\r\nX-Injected: 1',
    'http://[::1',
    'https://a:b@c/../',
    '9999-12-31T23:59:60Z',
    '-271821-04-20T00:00:00Z',
    '+1',
    `+${'9'.repeat(40)}`,
  ),
  fc.constantFrom(100, 2_000, 70_000).map((length) => 'x'.repeat(length)),
  fc.constantFrom(33, 200).map(nested),
  fc.constantFrom(60, 2_000).map((length) => Array.from({ length }, (_, i) => `item-${i}`)),
  fc.constant(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`field${i}`, i]))),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter }),
);

/** Field names with a special meaning in a language or library. */
export const hostileName = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'then',
    'toJSON',
    'hasOwnProperty',
    '',
    '$ref',
  ),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
);

/** A path segment in its encoded form. */
export const hostileSegment = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '%2e%2e',
    '%2F',
    '..%2F..%2Fadmin',
    '%00',
    'a%00b',
    '%',
    '%E0%A4%A',
    '%ff',
    '%C0%AF',
    '%F0%9F%92%A9',
    '%ED%A0%80',
    '*',
    ':id',
    '{id}',
    'a;b=c',
    'a%3Fb',
    'a%23b',
    '%20',
    '__proto__',
    'constructor',
    'default',
    '-1',
    'null',
    '%0d%0aX-A:%20b',
  ),
  fc.constantFrom(512, 513, 2_048).map((length) => 'x'.repeat(length)),
  fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))),
);

/** A query value in its encoded form. */
export const hostileQueryValue = fc.oneof(
  hostileSegment,
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e9',
    '99999999999999999999',
    '0x10',
    '١',
    'true',
    '1,2',
    'a=b',
    '%2C',
    '+',
    '[]',
  ),
);

/** Headers that no operation uses. The values are bytes. */
export const hostileHeader: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.constantFrom<readonly [string, string]>(
    ['X-Request-Id', '../../x'],
    ['X-Request-Id', 'x'.repeat(200)],
    ['X-Request-Id', 'fine-1'],
    ['Accept', 'image/png'],
    ['Accept-Encoding', 'gzip;q=NaN, br, *'],
    ['Expect', '100-continue'],
    ['Expect', 'the unexpected'],
    ['Upgrade', 'websocket'],
    ['Range', 'bytes=0-,1-'],
    ['If-None-Match', '*'],
    ['Origin', 'null'],
    ['Cookie', '='.repeat(100)],
    ['Forwarded', 'for="[::1]"'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-API-Key', 'another'],
    ['Host', 'a b'],
    ['Content-Encoding', 'gzip'],
    ['Transfer-Encoding', 'gzip, chunked'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '-1'],
    ['Content-Length', '1e3'],
    ['Bad Name', 'x'],
    ['X-High', '\xff\xfe'],
    ['X-Nul', 'a\0b'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
  ),
  fc.constantFrom(1_000, 20_000).map((length) => ['X-Long', 'y'.repeat(length)] as const),
  fc
    .tuple(
      fc.constantFrom('Idempotency-Key', 'Last-Event-ID', 'Accept-Language', 'X-Request-Id'),
      fc.oneof(fc.constantFrom('', 'a', 'k'.repeat(256), 'ü', 'a,b'), fc.string({ maxLength: 30 })),
    )
    .map(([name, value]) => [name, value.replace(/[\r\n]/g, '_')] as const),
);

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
