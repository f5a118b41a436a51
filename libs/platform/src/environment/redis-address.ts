/** Host and port of a Redis process. */
export interface RedisNode {
  host: string;
  port: number;
}

/** Address of Redis: a single server, servers that Sentinel monitors, or a Redis Cluster. */
export type RedisAddress =
  | { kind: 'standalone'; url: string }
  | { kind: 'sentinel'; sentinels: RedisNode[]; name: string; username?: string; password?: string }
  | { kind: 'cluster'; nodes: RedisNode[]; username?: string; password?: string };

/**
 * Parses `redis://[user:password@]host:port/database` (or `rediss:`, for TLS),
 * `redis-sentinel://[user:password@]host:port,host:port/name` or
 * `redis-cluster://[user:password@]host:port,host:port`.
 * @throws {Error} for any other text
 */
export function parseRedisAddress(text: string): RedisAddress {
  if (/^rediss?:\/\/./.test(text)) {
    const { hostname, username, password, pathname, searchParams } = new URL(text);
    if (hostname === '') throw new Error('no host');
    const database = pathname.slice(1) || (searchParams.get('db') ?? '');
    if (!/^\d*$/.test(database)) throw new Error('the database is not a number');
    // The Redis client would decode both later, and would throw an error that does not name the environment variable.
    for (const part of [username, password]) decodeURIComponent(part);
    return { kind: 'standalone', url: text };
  }
  const match = /^redis-(sentinel|cluster):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([\w.-]+))?\/?$/.exec(text);
  const [, kind, login, hosts, name] = match ?? [];
  if (hosts === undefined) throw new Error('not a Redis address');
  const nodes = hosts.split(',').map(parseNode);
  const credentials = parseLogin(login);
  if (kind === 'cluster') return { kind, nodes, ...credentials };
  if (name === undefined) throw new Error('the name of the master is missing');
  return { kind: 'sentinel', sentinels: nodes, name, ...credentials };
}

function parseNode(text: string): RedisNode {
  const url = new URL(`redis://${text}`);
  const port = Number(url.port);
  if (url.hostname === '' || port === 0) throw new Error('host:port is missing');
  // A URL has brackets around an IPv6 address. A socket needs the address without brackets.
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}

function parseLogin(login: string | undefined): { username?: string; password?: string } {
  if (login === undefined || login === '') return {};
  const colon = login.indexOf(':');
  const username = decodeURIComponent(colon < 0 ? login : login.slice(0, colon));
  const password = colon < 0 ? undefined : decodeURIComponent(login.slice(colon + 1));
  return { ...(username === '' ? {} : { username }), ...(password === undefined ? {} : { password }) };
}
