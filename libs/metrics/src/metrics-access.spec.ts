import { describe, expect, it } from '@jest/globals';
import { FixedApiKeys, type Scope } from '#accounts';
import { parseNetworks } from '#platform';
import { MetricsAccess } from './metrics-access.js';

const key = (text: string, scopes: Scope[]) => ({ id: text, key: text, account: 'default', scopes });
const keys = new FixedApiKeys([key('admin-key', ['admin']), key('other-key', ['messages:send'])]);

function access({ token = '', networks = '127.0.0.0/8,::1/128' } = {}): MetricsAccess {
  return new MetricsAccess({ METRICS_TOKEN: token, METRICS_ALLOW_NETWORKS: parseNetworks(networks) }, keys);
}

describe('the metrics may be read', () => {
  it.each([
    ['from an allowed network', '127.0.0.1', {}, true],
    ['from an allowed network by its IPv4-mapped address', '::ffff:127.0.0.1', {}, true],
    ['from an allowed IPv6 network', '::1', {}, true],
    ['with the token', '203.0.113.9', { authorization: 'Bearer a-long-random-token' }, true],
    ['with an admin key', '203.0.113.9', { 'x-api-key': 'admin-key' }, true],
    ['from another network', '203.0.113.9', {}, false],
    ['with another token', '203.0.113.9', { authorization: 'Bearer another-random-token' }, false],
    ['with an empty token', '203.0.113.9', { authorization: 'Bearer ' }, false],
    ['with a key without the scope admin', '203.0.113.9', { 'x-api-key': 'other-key' }, false],
    ['with an unknown key', '203.0.113.9', { 'x-api-key': 'unknown' }, false],
    [
      'for somebody behind a proxy in an allowed network',
      '127.0.0.1',
      { 'x-forwarded-for': '127.0.0.1' },
      false,
    ],
    ['without an address', undefined, {}, false],
  ])('%s', async (_, address, headers, isAllowed) => {
    const allowed = access({ token: 'a-long-random-token' }).mayRead({ address, headers });
    expect(await allowed).toBe(isAllowed);
  });

  it('with a token that contains spaces', async () => {
    const headers = { authorization: 'Bearer a token with spaces' };
    const spaced = access({ token: 'a token with spaces' });
    expect(await spaced.mayRead({ address: '203.0.113.9', headers })).toBe(true);
  });

  it('by nobody with an empty token if no token is set', async () => {
    const headers = { authorization: 'Bearer x' };
    expect(await access({ networks: '' }).mayRead({ address: '127.0.0.1', headers })).toBe(false);
  });
});
