import { describe, expect, it } from '@jest/globals';
import { parseRedisAddress } from './redis-address.js';

describe('a Redis address', () => {
  it.each(['redis://127.0.0.1:6379', 'rediss://user:secret@redis.example.com:6380/2', 'redis://[::1]:6379'])(
    'of a single server is not changed by the parser: %s',
    (url) => {
      expect(parseRedisAddress(url)).toEqual({ kind: 'standalone', url });
    },
  );

  it('of Sentinel is parsed to the Sentinel servers, the master name and the login for the master', () => {
    expect(parseRedisAddress('redis-sentinel://us%40er:p%3Aw@a:26379,b:26380/main')).toEqual({
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      name: 'main',
      username: 'us@er',
      password: 'p:w',
    });
  });

  it('of a Cluster is parsed to the nodes and the password', () => {
    expect(parseRedisAddress('redis-cluster://:pw@a:7000,b:7001/')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
      ],
      password: 'pw',
    });
  });

  it('with an IPv6 host is parsed to the host without brackets, as sockets require', () => {
    expect(parseRedisAddress('redis-cluster://[::1]:7000,127.0.0.1:7001')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: '::1', port: 7000 },
        { host: '127.0.0.1', port: 7001 },
      ],
    });
  });

  it.each([
    '',
    'localhost:6379',
    'http://localhost:6379',
    'redis://',
    'redis-sentinel://a:26379',
    'redis-sentinel://a/main',
    'redis-cluster://',
    'redis-cluster://a',
    'redis-cluster://a:7000,',
    'redis-cluster://a:99999',
    'redis-cluster://a:0',
    'redis-cluster://u:%zz@a:7000',
    'redis://u:%zz@a:6379',
    'redis://a:6379/main',
    'redis://a:6379/1/2',
    'redis://a:6379?db=main',
  ])('that is invalid is rejected: %p', (text) => {
    expect(() => parseRedisAddress(text)).toThrow();
  });
});
