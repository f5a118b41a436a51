import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigurationError, pause } from '#platform';
import { type EmbeddedRedis, startEmbeddedRedis } from './embedded-redis.js';
import { findRedisServer } from './find-redis-server.js';
import { findFreePort } from './free-port.js';
import { redisUrl, redisConfiguration } from './settings.js';

/**
 * Returns a program that answers like a Redis server: it loads its data for `loadsForMs` milliseconds, then closes one
 * connection without an answer, and is ready after that.
 */
const loadingServer = (loadsForMs: number): string => `#!/usr/bin/env node
const { createServer } = require('node:net');
let settings = '';
let missed = false;
process.stdin.on('data', (chunk) => { settings += chunk; }).on('end', () => {
  const port = Number(/^port (\\d+)/m.exec(settings)[1]);
  createServer((socket) => {
    socket.on('error', () => {}).on('data', (chunk) => {
      const commands = chunk.toString().split('*').length - 1;
      const isLoading = performance.now() < ${loadsForMs};
      if (isLoading) socket.write('-LOADING Redis is loading the dataset in memory\\r\\n'.repeat(commands));
      else if (missed) socket.write('+PONG\\r\\n'.repeat(commands));
      else missed = socket.destroy().destroyed;
      console.log('asked');
    });
  }).listen(port, '127.0.0.1');
});
`;

let directory: string;
let running: EmbeddedRedis[];

beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'tidings-embedded-')));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((redis) => redis.stop()));
  await rm(directory, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedRedis> {
  const redis = await startEmbeddedRedis({ dataDirectory: directory });
  running.push(redis);
  return redis;
}

async function using<T>(url: string, ask: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    disconnectTimeout: 50,
  });
  client.on('error', () => undefined);
  try {
    return await ask(client);
  } finally {
    client.disconnect();
  }
}

/** Polls until the check returns true. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error('the check did not return true within 10 s');
    await pause(20);
  }
}

describe('an embedded Redis', () => {
  it('is configured to keep every acknowledged write, to evict no key and to listen only on 127.0.0.1', async () => {
    const redis = await start();
    const settings = await using(redis.url, async (client) =>
      Promise.all(
        ['appendonly', 'appendfsync', 'maxmemory-policy', 'save', 'bind'].map((name) =>
          client.config('GET', name),
        ),
      ),
    );
    expect(settings.flat()).toEqual([
      ...['appendonly', 'yes', 'appendfsync', 'always', 'maxmemory-policy', 'noeviction'],
      ...['save', '', 'bind', '127.0.0.1'],
    ]);
  });

  it('rejects clients without the password, does not show the password in its command line, and stores it in a file that only the owner can read', async () => {
    const redis = await start();
    await expect(using(`redis://127.0.0.1:${redis.port}`, (client) => client.ping())).rejects.toThrow();
    const password = new URL(redis.url).password;
    const commandLine = await readFile(`/proc/${redis.pid}/cmdline`, 'utf8').catch(() => '');
    expect(commandLine).not.toContain(password);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, 'server.json'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its data when it is stopped and started again', async () => {
    const first = await start();
    await using(first.url, (client) => client.set('k', 'v'));
    await first.stop();
    const second = await start();
    expect(await using(second.url, (client) => client.get('k'))).toBe('v');
  });

  it('restarts with the same address and data after it was killed', async () => {
    const redis = await start();
    const { url, pid } = redis;
    await using(url, (client) => client.set('k', 'v'));
    redis.kill('SIGKILL');
    expect(await redis.exited).toMatchObject({ signal: 'SIGKILL' });
    await redis.restart();
    expect(redis.url).toBe(url);
    expect(redis.pid).not.toBe(pid);
    expect(await using(url, (client) => client.get('k'))).toBe('v');
  });

  it('first shuts down a Redis that was left running with the same data directory, and then starts with the same data', async () => {
    const search = await findRedisServer();
    if (!search.found) throw new Error(search.reason);
    const port = await findFreePort();
    const credentials = { port, password: 'left-behind' };
    const orphan = spawn(search.path, ['-'], { stdio: ['pipe', 'ignore', 'ignore'] });
    orphan.stdin.end(redisConfiguration(credentials, directory));
    await until(() =>
      using(redisUrl(credentials), (client) => client.set('k', 'v')).then(
        () => true,
        () => false,
      ),
    );
    await writeFile(join(directory, 'server.json'), JSON.stringify(credentials));
    const gone = once(orphan, 'exit');
    const redis = await start();
    expect(await gone).toEqual([0, null]);
    expect(await using(redis.url, (client) => client.get('k'))).toBe('v');
  });

  it('does not shut down a Redis with a different data directory, even if an outdated server.json contains the port and password of that Redis', async () => {
    const other = await mkdtemp(join(tmpdir(), 'tidings-embedded-'));
    const neighbour = await startEmbeddedRedis({ dataDirectory: other });
    try {
      await writeFile(join(directory, 'server.json'), await readFile(join(other, 'server.json')));
      await start();
      expect(await using(neighbour.url, (client) => client.ping())).toBe('PONG');
    } finally {
      await neighbour.stop();
      await rm(other, { recursive: true });
    }
  });

  it('does not start with a damaged append-only file, and reports the error of Redis and the repair command', async () => {
    const redis = await start();
    await using(redis.url, async (client) => {
      for (let index = 0; index < 50; index++) await client.set(`key:${index}`, 'v'.repeat(50));
    });
    await redis.stop();
    const folder = join(directory, 'appendonlydir');
    const log = (await readdir(folder)).find((name) => name.endsWith('.incr.aof')) ?? '';
    const text = await readFile(join(folder, log), 'latin1');
    await writeFile(join(folder, log), text.slice(0, 500) + 'damaged' + text.slice(520), 'latin1');
    const failure: unknown = await start().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toMatch(/Bad file format reading the append only file/);
    expect(String(failure)).toContain(`redis-check-aof --fix ${folder}/appendonly.aof.manifest`);
  });

  it('fails to start, with the abort reason, if the start is stopped while it loads its data', async () => {
    const binary = join(directory, 'redis-server');
    await writeFile(binary, loadingServer(Number.POSITIVE_INFINITY), { mode: 0o755 });
    const stop = new AbortController();
    const starting = startEmbeddedRedis({
      dataDirectory: directory,
      binary,
      signal: stop.signal,
      log: (line) => {
        if (line.startsWith('asked')) stop.abort(new Error('stopped by the user'));
      },
    });
    await expect(starting).rejects.toThrow('stopped by the user');
  });

  it('starts even if it misses one check after it has loaded its data for longer than `answerWithinMs`', async () => {
    const binary = join(directory, 'redis-server');
    const answerWithinMs = 8_000;
    await writeFile(binary, loadingServer(answerWithinMs + 100), { mode: 0o755 });
    const redis = await startEmbeddedRedis({ dataDirectory: directory, binary, answerWithinMs });
    running.push(redis);
    redis.kill('SIGKILL');
    expect(await redis.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  it('does not start if its program does not exist, and reports ENOENT', async () => {
    await expect(
      startEmbeddedRedis({ dataDirectory: directory, binary: join(directory, 'redis-server') }),
    ).rejects.toThrow(/ENOENT/);
  });
});
