import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisEncryptionKeyIds } from '#accounts';
import { type Run, runTidings, runTidingsInside } from '../support/command-line.js';
import { ROOT, startCommand } from '../support/process.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
  remedy?: string;
}

const UPSTREAM_KEY = 'upstream-key-of-a-test';

let redis: TestRedis;
let control: Redis;
let folder: string;
let upstream: { server: Server; url: string };

beforeAll(async () => {
  redis = await startTestRedis();
  control = new Redis(redis.url);
  folder = await mkdtemp(join(tmpdir(), 'tidings-doctor-'));
  upstream = await listen((request, response) => {
    if (request.headers['x-api-key'] !== UPSTREAM_KEY) response.writeHead(401);
    else if (request.url !== '/v1/contacts') response.writeHead(404);
    response.end(JSON.stringify({ contacts: [{ id: 'c1' }] }));
  });
});
afterAll(async () => {
  upstream.server.close();
  await control.quit();
  await redis.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function listen(answer: RequestListener): Promise<{ server: Server; url: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const encryptionKey = randomBytes(32).toString('base64');

/** The variables of a sound installation. */
function installation(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    REDIS_URL: redis.url,
    ENCRYPTION_KEY: encryptionKey,
    API_KEY: 'a-key-of-a-test-installation',
    UPSTREAM_BASE_URL: `${upstream.url}/v1`,
    UPSTREAM_API_KEY: UPSTREAM_KEY,
    BLOB_STORE: `file:${join(folder, 'blobs')}`,
    // Nothing listens there.
    PORT: '9',
    ...changes,
  };
}

function findingsOf({ stdout }: Run): Finding[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Finding);
}

async function problemsWith(
  changes: Readonly<Record<string, string>>,
  runIn = runTidingsInside,
): Promise<Finding[]> {
  const run = await runIn(['--json', 'doctor'], installation(changes));
  const problems = findingsOf(run).filter(({ state }) => state === 'problem');
  expect(run).toMatchObject({ code: problems.length === 0 ? 0 : 1, stderr: '' });
  return problems;
}

describe('tidings doctor with the environment variables of an installation', () => {
  it('reports no problem in a correct installation, and lists its checks', async () => {
    const run = await runTidings(['doctor'], installation());
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('No problem found.');
    for (const check of ['configuration', 'Redis', 'encryption key', 'blob store', 'messaging service'])
      expect(run.stdout).toContain(`ok      ${check}: `);
  });

  it.each<[string, Record<string, string>, string, RegExp]>([
    ['a missing variable', { UPSTREAM_API_KEY: '' }, 'configuration', /UPSTREAM_API_KEY/],
    ['an invalid variable', { ENCRYPTION_KEY: 'short' }, 'configuration', /ENCRYPTION_KEY/],
    ['a misspelt variable', { UPSTEAM_BASE_URL: 'x' }, 'configuration', /did you mean UPSTREAM_BASE_URL/],
    ['a Redis that cannot be reached', { REDIS_URL: 'redis://127.0.0.1:9' }, 'Redis', /correct REDIS_URL/],
    [
      'a directory that cannot be written',
      { BLOB_STORE: 'file:/dev/null/blobs' },
      'blob store',
      /BLOB_STORE/,
    ],
    [
      'an upstream that is down',
      { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1' },
      'messaging service',
      /start the messaging service/,
    ],
    [
      'an upstream key that is not valid',
      { UPSTREAM_API_KEY: 'another-key' },
      'messaging service',
      /set UPSTREAM_API_KEY/,
    ],
  ])('reports %s, and names the remedy', async (_name, changes, check, remedy) => {
    // Redis as a process: attempts to connect must not keep it from its end.
    const problems = await problemsWith(changes, check === 'Redis' ? runTidings : runTidingsInside);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.check).toBe(check);
    expect(`${problems[0]?.text ?? ''} ${problems[0]?.remedy ?? ''}`).toMatch(remedy);
  });

  it('makes every check in the container of a worker, which has no API_KEY', async () => {
    const run = await runTidingsInside(['doctor'], installation({ API_KEY: '' }));
    expect(run).toMatchObject({ code: 0, stderr: '' });
    for (const check of ['configuration', 'Redis', 'encryption key', 'blob store', 'messaging service'])
      expect(run.stdout).toContain(`ok      ${check}: `);
    expect(run.stdout).toContain('a gateway also needs API_KEY');
  });

  it('makes every other check even if a variable that only the gateway or only the worker uses is invalid', async () => {
    const run = await runTidingsInside(['doctor'], installation({ READ_CACHE_MS: 'x', WORKER_ROLES: 'x' }));
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.stdout).toMatch(/READ_CACHE_MS must be[^]*WORKER_ROLES must be/);
    for (const check of ['Redis', 'encryption key', 'blob store', 'messaging service'])
      expect(run.stdout).toContain(`ok      ${check}: `);
  });

  it('reports an upstream address that has no path or belongs to a Tidings gateway', async () => {
    expect(await problemsWith({ UPSTREAM_BASE_URL: upstream.url })).toMatchObject([
      { check: 'messaging service', remedy: expect.stringContaining('/v1') },
    ]);
    const gateway = await listen((_request, response) => {
      response.setHeader('tidings-gateway', '1').writeHead(200).end('{"contacts":[]}');
    });
    try {
      expect(await problemsWith({ UPSTREAM_BASE_URL: `${gateway.url}/v1` })).toMatchObject([
        { check: 'messaging service', remedy: expect.stringContaining('not of a Tidings gateway') },
      ]);
    } finally {
      gateway.server.close();
    }
  });

  it('reports a Redis that may evict keys, is not persistent, or is nearly full', async () => {
    await control.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await problemsWith({})).toMatchObject([
      { check: 'Redis', remedy: expect.stringContaining('noeviction') },
    ]);
    await control.config('SET', 'maxmemory-policy', 'noeviction');

    await control.config('SET', 'appendonly', 'no');
    expect(await problemsWith({})).toMatchObject([
      { check: 'Redis', remedy: expect.stringContaining('appendonly yes') },
    ]);
    await control.config('SET', 'appendonly', 'yes');

    const used = Number(/used_memory:(\d+)/.exec(await control.info('memory'))?.[1]);
    // Connections need memory, too.
    await control.config('SET', 'maxmemory', String(Math.ceil(used * 1.1)));
    expect(await problemsWith({})).toMatchObject([
      { check: 'Redis', text: expect.stringContaining('80 % of its maxmemory'), remedy: 'raise maxmemory' },
    ]);
    await control.config('SET', 'maxmemory', '0');
    expect(await problemsWith({})).toEqual([]);
  });

  it.each([
    [
      'is full',
      'OOM',
      'maxmemory',
      ['CONFIG', 'SET', 'maxmemory', '1mb'],
      ['CONFIG', 'SET', 'maxmemory', '0'],
    ],
    [
      'lacks its replica',
      'NOREPLICAS',
      'min-replicas-to-write',
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    ],
    ['is a replica', 'READONLY', 'master', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ])('reports the answer of a Redis that %s, and the remedy', async (_, word, remedy, change, back) => {
    const run = async ([command = '', ...parameters]: string[]): Promise<void> => {
      await control.call(command, ...parameters);
    };
    await run(change);
    try {
      expect(await problemsWith({})).toMatchObject([
        { check: 'Redis', text: expect.stringContaining(word), remedy: expect.stringContaining(remedy) },
      ]);
    } finally {
      await run(back);
    }
  });

  it('reports a wrong Redis password', async () => {
    const url = new URL(redis.url);
    url.username = 'default';
    url.password = 'wrong';
    await control.config('SET', 'requirepass', 'the-password-of-a-test');
    try {
      expect(await problemsWith({ REDIS_URL: url.href }, runTidings)).toMatchObject([
        { check: 'Redis', remedy: expect.stringContaining('password in REDIS_URL') },
      ]);
    } finally {
      await control.config('SET', 'requirepass', '');
    }
  });

  it('reports that another program uses the port of the gateway', async () => {
    expect(await problemsWith({ PORT: new URL(upstream.url).port })).toMatchObject([
      { check: 'gateway', remedy: expect.stringContaining('a free port') },
    ]);
  });

  it('checks the gateway at the address that HOST and PORT define', async () => {
    const ready = await listen((request, response) => {
      if (request.url !== '/health/ready') response.writeHead(401);
      response.end(JSON.stringify({ status: 'ok', reasons: [], details: [] }));
    });
    try {
      const { port } = new URL(ready.url);
      const run = await runTidingsInside(
        ['--json', 'doctor'],
        installation({ HOST: 'localhost', PORT: port }),
      );
      expect(findingsOf(run)).toContainEqual({
        check: 'gateway',
        state: 'ok',
        text: `http://localhost:${port} answers`,
      });
    } finally {
      ready.server.close();
    }
  });

  it('reports stored secrets that are encrypted with another key', async () => {
    const keys = new RedisEncryptionKeyIds(control, 'tidings');
    await keys.add('0123abcd');
    expect(await problemsWith({})).toMatchObject([
      {
        check: 'encryption key',
        text: expect.stringContaining('0123abcd'),
        remedy: expect.stringContaining('ENCRYPTION_KEYS_PREVIOUS'),
      },
    ]);
    await keys.remove(['0123abcd']);
  });
});

describe('tidings doctor beside npm start, in a shell that sets only the address of Redis,', () => {
  it('checks the gateway that npm start runs, with the API key of that gateway, and checks no environment variables', async () => {
    const keys: unknown[] = [];
    const ready = await listen((request, response) => {
      keys.push(request.headers['x-api-key']);
      response.end(JSON.stringify({ status: 'ok', reasons: [], details: [] }));
    });
    try {
      const run = await runTidings(['--json', 'doctor'], {
        REDIS_URL: redis.url,
        TIDINGS_CHECKOUT_DATA: folder,
        TIDINGS_CHECKOUT_URL: ready.url,
        TIDINGS_CHECKOUT_KEY: 'key-of-npm-start',
      });
      expect(findingsOf(run).map(({ check }) => check)).not.toContain('configuration');
      expect(keys).toContain('key-of-npm-start');
    } finally {
      ready.server.close();
    }
  });
});

describe('tidings doctor without the environment variables of an installation', () => {
  it('writes a bundle to a new file with the time in its name if --bundle names no file', async () => {
    const directory = await mkdtemp(join(folder, 'bundle-'));
    const script = `cd "$DIRECTORY" && exec ${process.execPath} "$ROOT/dist/cli.js" doctor --bundle`;
    const variables = { HOME: '/nonexistent', TIDINGS_URL: upstream.url, ROOT, DIRECTORY: directory };
    const { stderr } = await startCommand('sh', ['-c', script], variables).ended;
    const [name = ''] = await readdir(directory);
    expect(name).toMatch(/^tidings-diagnosis-\d{8}T\d{9}Z\.json$/);
    expect(stderr).toContain(`Wrote ${name}.`);
  });

  it('reports a gateway that does not answer, a server that is not a gateway, a wrong clock, and a missing API key', async () => {
    const findings = async (environment: Record<string, string>): Promise<Finding[]> =>
      findingsOf(await runTidingsInside(['--json', 'doctor'], environment)).filter(
        ({ state }) => state === 'problem',
      );
    expect(await findings({ TIDINGS_URL: 'http://127.0.0.1:9', TIDINGS_API_KEY: 'any' })).toMatchObject([
      { check: 'gateway', remedy: expect.stringContaining('start the gateway') },
    ]);
    expect(await findings({ TIDINGS_URL: upstream.url, TIDINGS_API_KEY: 'any' })).toMatchObject([
      { check: 'gateway', text: expect.stringContaining('not a Tidings gateway') },
    ]);
    const ready = await listen((_request, response) => {
      response.setHeader('date', new Date(Date.now() - 120_000).toUTCString());
      response.end(JSON.stringify({ status: 'ok', reasons: [], details: [] }));
    });
    try {
      expect(await findings({ TIDINGS_URL: ready.url })).toMatchObject([
        { check: 'clock', remedy: expect.stringContaining('NTP') },
        { check: 'API key', remedy: expect.stringContaining('tidings login') },
      ]);
    } finally {
      ready.server.close();
    }
  });
});
