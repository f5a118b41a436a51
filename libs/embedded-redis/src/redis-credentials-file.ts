import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Credentials } from './settings.js';

/**
 * File in a data directory that contains the port and password of the Redis server on that directory. If the
 * process that started the server was killed, the next start uses the file to shut that server down. The file
 * is written before the server starts and removed after the server stops.
 */
export class RedisCredentialsFile {
  private readonly path: string;

  constructor(dataDirectory: string) {
    this.path = join(dataDirectory, 'server.json');
  }

  /** Reads the server's port and password. Returns undefined if the file is missing or invalid. */
  read(): Credentials | undefined {
    try {
      const found: unknown = JSON.parse(readFileSync(this.path, 'utf8'));
      return isCredentials(found) ? { port: found.port, password: found.password } : undefined;
    } catch {
      return undefined;
    }
  }

  async write(credentials: Credentials): Promise<void> {
    const draft = `${this.path}.new`;
    await writeFile(draft, JSON.stringify(credentials), { mode: 0o600 });
    await rename(draft, this.path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

function isCredentials(value: unknown): value is Credentials {
  return (
    typeof value === 'object' &&
    value !== null &&
    'port' in value &&
    typeof value.port === 'number' &&
    'password' in value &&
    typeof value.password === 'string'
  );
}
