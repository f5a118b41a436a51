/** Port and password of an embedded Redis. */
export interface Credentials {
  port: number;
  password: string;
}

/** Returns the URL at which clients reach the Redis server. The URL contains the password. */
export function redisUrl({ port, password }: Credentials): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/**
 * Returns the configuration of the Redis server. It is passed on standard input, so that the password appears
 * in no command line. Redis writes every change to disk before it acknowledges the change, evicts no key, and
 * accepts connections only from this machine.
 */
export function redisConfiguration({ port, password }: Credentials, dataDirectory: string): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(dataDirectory)}`,
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory 0',
    'maxmemory-policy noeviction',
    'daemonize no',
    'logfile ""',
    'loglevel notice',
    '',
  ].join('\n');
}
