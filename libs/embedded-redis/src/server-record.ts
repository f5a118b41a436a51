import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Credentials } from './settings.js';

/**
 * The note in a data directory on how to reach the server that runs on it, so that a later owner can end a server
 * whose owner was killed. Written before the server starts, removed when it was stopped.
 */
export class ServerRecord {
  private readonly path: string;

  constructor(dataDirectory: string) {
    this.path = join(dataDirectory, 'server.json');
  }

  /** What stands there; undefined for no file or one that is not a record. */
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
