import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { startCommand } from '../support/process.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';

/** All processes on this Redis need the same key. */
const ENCRYPTION_KEY = randomBytes(32).toString('base64');
let redis: TestRedis;
let directory: string;

beforeAll(async () => {
  redis = await startTestRedis();
  directory = await mkdtemp(join(tmpdir(), 'tidings-npm-'));
});

afterAll(async () => {
  await redis.dispose();
  await rm(directory, { recursive: true, force: true });
});

/** The port that a ready process prints, in an address or in a field of its log. */
function portIn(output: string): number | undefined {
  const [, address, field] = /listening on http:\/\/[^:\s]+:(\d+)|"port":(\d+)/.exec(output) ?? [];
  const port = address ?? field;
  return port === undefined ? undefined : Number(port);
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

describe('a process that npm started', () => {
  it.each(['gateway', 'worker', 'simulator'])('ends when npm gets SIGTERM (process: %s)', async (name) => {
    const environment = {
      REDIS_URL: redis.url,
      ENCRYPTION_KEY,
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
      UPSTREAM_API_KEY: 'key',
      API_KEY: `tk_${randomBytes(12).toString('hex')}`,
      BLOB_STORE: `file:${join(directory, 'blobs')}`,
      ...{ PORT: '0', WORKER_PORT: '0', SIMULATOR_PORT: '0', SIMULATOR_API_KEY: 'simulator-key' },
      SIMULATOR_STATE_FILE: join(directory, 'simulator.json'),
      HOME: directory,
    };
    const { child } = startCommand('npm', ['run', '--silent', `start:${name}`], environment);
    let output = '';
    child.stdout?.on('data', (text: Buffer) => (output += text.toString()));
    await eventually('the process responds', () => Promise.resolve(portIn(output) !== undefined), 30_000);
    const port = portIn(output) ?? 0;
    expect(await answers(port)).toBe(true);
    const npmEnded = once(child, 'exit');
    child.kill('SIGTERM');
    await npmEnded;
    expect(await answers(port)).toBe(false);
  });
});
