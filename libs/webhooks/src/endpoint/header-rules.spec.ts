import { describe, expect, it } from '@jest/globals';
import { describeInvalidHeaders, MAX_CUSTOM_HEADERS } from './header-rules.js';

const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'v']));

describe('the custom headers of a webhook', () => {
  it.each([
    {},
    { Authorization: 'Bearer abc', 'X-Team': 'a b\tc', Cookie: 'k=v; l="w"' },
    { 'x-webhook-source': 'v', 'x-content-kind': 'v', hostname: 'v', 'x-host': 'v' },
    { v: 'x'.repeat(1_024) },
    many(MAX_CUSTOM_HEADERS),
  ])('are accepted if valid: %j', (headers) => {
    expect(describeInvalidHeaders(headers)).toBeUndefined();
  });

  it.each([
    ...['webhook-id', 'Webhook-Signature', 'WEBHOOK-TIMESTAMP', 'webhook-', 'webhook-anything'],
    ...['content-type', 'Content-Length', 'content-encoding', 'Host', 'host', 'user-agent', 'Expect'],
    ...['connection', 'Keep-Alive', 'TE', 'trailer', 'transfer-encoding', 'Upgrade'],
    ...['proxy-authorization', 'Proxy-Connection', 'proxy-authenticate', 'Traceparent'],
  ])('are refused if they contain the reserved header %s', (name) => {
    expect(describeInvalidHeaders({ [name]: 'v' })).toContain(`must not set ${name}`);
  });

  it.each(['', 'a b', 'a:', 'a\r\nhost', 'a\n', 'é', '"a"', 'a,b', 'x'.repeat(101)])(
    'are refused for the invalid name %j',
    (name) => {
      expect(describeInvalidHeaders({ [name]: 'v' })).toMatch(/must have valid names/);
    },
  );

  it.each([
    '',
    ' ',
    ' v',
    'v ',
    'a\r\nHost: b',
    'a\nb',
    'a\0',
    'ü',
    '\x7f',
    'x'.repeat(1_025),
    1,
    null,
    ['v'],
    {},
  ])('are refused for the invalid value %j', (value) => {
    expect(describeInvalidHeaders({ 'x-a': value })).toMatch(/must set x-a to 1 to/);
  });

  it.each([null, [], 'a: b', 7, true, [['a', 'b']]])(
    'are refused if they are not an object: %j',
    (headers) => {
      expect(describeInvalidHeaders(headers)).toMatch(/must be an object/);
    },
  );

  it('are limited in number and must not contain a name twice', () => {
    expect(describeInvalidHeaders(many(MAX_CUSTOM_HEADERS + 1))).toMatch(/at most 20/);
    expect(describeInvalidHeaders({ 'X-A': '1', 'x-a': '2' })).toMatch(/contain x-a twice/);
  });
});
