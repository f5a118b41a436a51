import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Finding } from './finding.js';
import { withoutCredentials, writeSupportBundle } from './support-bundle.js';

it.each([
  ['redis://:pa@ss-word@redis:6379', 'redis://(set)@redis:6379'],
  ['redis-cluster://user:ss-word@a:6379,b:6379', 'redis-cluster://(set)@a:6379,b:6379'],
  ['redis://redis:6379?password=ss-word', 'redis://redis:6379?password=(set)'],
  ['redis://:pa/ss@redis:6379', 'redis://(set)@redis:6379'],
  ['rediss://:pa?s#s@redis:6379', 'rediss://(set)@redis:6379'],
  ['https://collector/v1?q=a@b', 'https://collector/v1?q=a@b'],
])('a support bundle contains a URL without its credentials: %s', (value, shown) => {
  expect(withoutCredentials(value)).toBe(shown);
});

describe('a support bundle', () => {
  let folder: string;
  /** URLs that were requested. */
  let requested: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidings-bundle-'));
    requested = [];
    jest.spyOn(globalThis, 'fetch').mockImplementation((input) => {
      requested.push(new Request(input).url);
      return Promise.resolve(new Response('one\ntwo'));
    });
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await rm(folder, { recursive: true });
  });

  async function bundleOf(
    environment: NodeJS.ProcessEnv,
    findings: readonly Finding[] = [],
  ): Promise<Record<string, unknown>> {
    const file = join(folder, 'bundle.json');
    const gateway = { url: 'http://gateway:3000', apiKey: 'a-key' };
    await writeSupportBundle(file, { environment, findings, gateway });
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  }

  it.each([
    [{ WORKER_HOST: 'worker.internal', WORKER_PORT: '3999' }, 'http://worker.internal:3999/metrics'],
    [{ WORKER_HOST: '::1', WORKER_PORT: '3999' }, 'http://[::1]:3999/metrics'],
    [{ WORKER_HOST: '0.0.0.0' }, 'http://127.0.0.1:3001/metrics'],
    [{}, 'http://127.0.0.1:3001/metrics'],
  ])(
    'contains the metrics that the worker serves at its configured address: %j',
    async (environment, url) => {
      const { workerMetrics } = await bundleOf(environment);
      expect(requested).toContain(url);
      expect(workerMetrics).toEqual({ status: 200, body: ['one', 'two'] });
    },
  );

  it('says why a process did not answer', async () => {
    jest.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('fetch failed'));
    const error = { error: 'fetch failed' };
    expect(await bundleOf({})).toMatchObject({
      ...{ readiness: error, status: error, gatewayMetrics: error, workerMetrics: error },
    });
  });

  it('contains only environment variables of the product, and no value of a secret', async () => {
    const { configuration } = await bundleOf({
      ...{ API_KEY: 'secret', METRICS_TOKEN: 'secret', ENCRYPTION_KEYS_PREVIOUS: 'secret', PORT: '3000' },
      ...{ UPSTREAM_API_KEY: 'secret', TOKEN_RATE_LIMIT_PER_MINUTE: '60', REDIS_KEY_PREFIX: 'mine' },
      ...{ REDIS_URL: 'redis://:secret@redis:6379', HOST: '', PATH: '/bin', DATABASE_PASSWORD: 'secret' },
    });
    expect(configuration).toEqual({
      ...{ API_KEY: '(set)', METRICS_TOKEN: '(set)', ENCRYPTION_KEYS_PREVIOUS: '(set)', PORT: '3000' },
      ...{ UPSTREAM_API_KEY: '(set)', TOKEN_RATE_LIMIT_PER_MINUTE: '60', REDIS_KEY_PREFIX: 'mine' },
      REDIS_URL: 'redis://(set)@redis:6379',
    });
  });

  it('leaves out the text of errors of the messaging service', async () => {
    const { findings } = await bundleOf({}, [
      { check: 'messaging service', state: 'problem', text: 'it answers 500: Hello +15551230001' },
      { check: 'Redis', state: 'ok', text: 'version: 7.0' },
    ]);
    expect(findings).toMatchObject([{ text: 'it answers 500' }, { text: 'version: 7.0' }]);
  });

  it('contains the last 100 warnings and errors of each log of `npm start`, and no other line', async () => {
    await mkdir(join(folder, 'logs'));
    const lines = Array.from({ length: 300 }, (_, i) => JSON.stringify({ level: i % 2 === 0 ? 30 : 40, i }));
    await writeFile(join(folder, 'logs', 'worker.log'), ['cut off"}', ...lines, ''].join('\n'));
    const { logs } = await bundleOf({ TIDINGS_CHECKOUT_DATA: folder });
    const last = Array.from({ length: 100 }, (_, i) => ({ level: 40, i: 101 + 2 * i }));
    expect(logs).toEqual({ gateway: [], worker: last });
  });
});
