import { describe, expect, it } from '@jest/globals';
import { FixedApiKeys, type Scope } from '#accounts';
import { parseNetworks } from '#platform';
import { MetricsAuthorization } from './metrics-authorization.js';

const key = (text: string, scopes: Scope[]) => ({ id: text, key: text, account: 'default', scopes });
const keys = new FixedApiKeys([key('admin-key', ['admin']), key('other-key', ['messages:send'])]);

function access({ token = '', networks = '127.0.0.0/8,::1/128' } = {}): MetricsAuthorization {
  return new MetricsAuthorization(
    { METRICS_TOKEN: token, METRICS_ALLOW_NETWORKS: parseNetworks(networks) },
    keys,
  );
}

describe('a request for the metrics', () => {
  it.each([
    ['is allowed from an allowed network', '127.0.0.1', {}, true],
    [
      'is allowed from an allowed IPv4 network whose address is written as IPv6',
      '::ffff:127.0.0.1',
      {},
      true,
    ],
    ['is allowed from an allowed IPv6 network', '::1', {}, true],
    ['is allowed with the token', '203.0.113.9', { authorization: 'Bearer a-long-random-token' }, true],
    ['is allowed with an admin key', '203.0.113.9', { 'x-api-key': 'admin-key' }, true],
    ['is refused from another network', '203.0.113.9', {}, false],
    ['is refused with another token', '203.0.113.9', { authorization: 'Bearer another-random-token' }, false],
    ['is refused with an empty token', '203.0.113.9', { authorization: 'Bearer ' }, false],
    [
      'is refused with an API key without the scope admin',
      '203.0.113.9',
      { 'x-api-key': 'other-key' },
      false,
    ],
    ['is refused with an unknown API key', '203.0.113.9', { 'x-api-key': 'unknown' }, false],
    [
      'is refused if a proxy in an allowed network forwards it',
      '127.0.0.1',
      { 'x-forwarded-for': '127.0.0.1' },
      false,
    ],
    ['is refused if it has no source address', undefined, {}, false],
  ])('%s', async (_, address, headers, isAllowed) => {
    const allowed = access({ token: 'a-long-random-token' }).mayRead({ address, headers });
    expect(await allowed).toBe(isAllowed);
  });

  it('is allowed with a token that contains spaces', async () => {
    const headers = { authorization: 'Bearer a token with spaces' };
    const spaced = access({ token: 'a token with spaces' });
    expect(await spaced.mayRead({ address: '203.0.113.9', headers })).toBe(true);
  });

  it('is refused with any token if no token is configured', async () => {
    const headers = { authorization: 'Bearer x' };
    expect(await access({ networks: '' }).mayRead({ address: '127.0.0.1', headers })).toBe(false);
  });
});
