import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ListServer } from '../support/list-server.js';
import { ROOT } from '../support/process.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';

const CONTACTS = 100_000;
/** Maximum memory of the process including the Node.js runtime, in megabytes. */
const MAX_MEGABYTES = 300;
/** Request timeout, long enough for a busy machine. */
const TIMEOUT_MS = 120_000;

/** The output of the reading process. */
interface Figures {
  contacts: number;
  before: number;
  first: Reading;
  second: Reading;
}
interface Reading {
  ms: number;
  cpuMs: number;
  longestTurnMs: number;
  longestTurnCpuMs: number;
  peakMegabytes: number;
}

let redis: TestRedis;
let server: ListServer;

beforeAll(async () => {
  redis = await startTestRedis();
  server = await ListServer.start();
});
afterAll(async () => {
  await server.close();
  await redis.dispose();
});

describe('a contact list of 100,000 contacts of 1 KB each', () => {
  it('is stored at the first read; a second read, which finds no change, needs at most 300 MB of memory', async () => {
    server.list = { count: CONTACTS, bytes: 1_024 };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(ROOT, 'test/chaos/large-list-reader.mjs'), redis.url, server.baseUrl, String(TIMEOUT_MS)],
      { cwd: ROOT, timeout: 6 * TIMEOUT_MS },
    );
    const figures = JSON.parse(stdout) as Figures;
    process.stdout.write(`a list of ${CONTACTS} contacts: ${stdout}`);
    expect(figures.contacts).toBe(CONTACTS);
    expect(figures.second.peakMegabytes).toBeLessThanOrEqual(MAX_MEGABYTES);
    // The list is unchanged, so that the second read commits nothing.
    expect(figures.second.cpuMs).toBeLessThan(figures.first.cpuMs);
  }, 900_000);
});
