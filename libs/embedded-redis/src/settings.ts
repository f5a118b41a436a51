/** Port and password of an embedded Redis. */
export interface Credentials {
  port: number;
  password: string;
}

/** Returns the address for clients, with the password. */
export function redisUrl({ port, password }: Credentials): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/**
 * Returns the configuration for the server's standard input, so that the password is on no command line. Every
 * acknowledged write is on disk, no key is evicted, and only this machine can connect.
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
