/** Where an embedded Redis listens and who may speak to it. */
export interface Credentials {
  port: number;
  password: string;
}

/** The address for clients, password included. */
export function addressOf({ port, password }: Credentials): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/**
 * The configuration file, which the server reads from its standard input: the password is on no command line.
 * Every acknowledged write is on disk, nothing is ever evicted, and only this machine can connect.
 */
export function settingsOf({ port, password }: Credentials, dataDirectory: string): string {
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
