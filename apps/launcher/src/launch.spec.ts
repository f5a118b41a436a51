import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pause } from '#platform';
import { Checkout, type Launch } from './fixtures/checkout.js';

/** A copy of this checkout. The first start builds the product in it, and each test begins without state. */
let checkout: Checkout;

beforeAll(async () => {
  checkout = await Checkout.make();
});
afterEach(() => checkout.reset());
afterAll(() => checkout.dispose());

interface StandInState {
  pid: number;
  environment: Record<string, string>;
}

async function stateOf(address: string): Promise<StandInState> {
  return (await (await fetch(address)).json()) as StandInState;
}

async function increment(address: string): Promise<number> {
  return Number(await (await fetch(`${address}/count`)).text());
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function waitUntil(ask: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error('the condition did not become true in time');
    await pause(50);
  }
}

/** Returns the process ids of the gateway, the worker, the simulator and Redis. */
async function processesOf(launch: Launch): Promise<number[]> {
  const worker = (await launch.printed(/Worker +(http:\/\/[\d.:]+)/))[1] ?? '';
  const shown = await Promise.all([await launch.gateway(), worker, await launch.simulator()].map(stateOf));
  const redis = Number(/(\d+):C /.exec(await readFile(checkout.path('.data/logs/redis.log'), 'utf8'))?.[1]);
  return [...shown.map(({ pid }) => pid), redis];
}

describe('npm start', () => {
  it('prints the URLs, the API key, a curl command to try, and the warnings of the processes', async () => {
    const launch = checkout.start();
    const gateway = await launch.gateway();
    const key = (await launch.printed(/API key +(tk_\S+)/))[1] ?? '';
    expect(launch.output).toContain(
      `curl -sS ${gateway}/v1/messages/send -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' -d '{"phoneNumber":"+15551230001","message":"Hello from Tidings"}'`,
    );
    expect(launch.output).toContain('worker: warning: worker says hello');
    expect((await stateOf(gateway)).environment).toMatchObject({
      API_KEY: key,
      UPSTREAM_BASE_URL: `${await launch.simulator()}/v1`,
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8,::1/128',
      BLOB_STORE: `file:${checkout.path('.data/blobs')}`,
      LOG_LEVEL: 'info',
    });
  });

  it('writes info lines to .data/logs, not to the console', async () => {
    const launch = checkout.start();
    const gateway = await launch.gateway();
    expect((await stateOf(gateway)).environment['LOG_LEVEL']).toBe('info');
    await launch.printed(/worker says hello/);
    for (const name of ['gateway', 'worker']) {
      const log = (): Promise<string> => readFile(checkout.path(`.data/logs/${name}.log`), 'utf8');
      await waitUntil(async () => (await log()).includes(`${name} was asked for something`));
    }
    expect(launch.output).not.toContain('was asked for something');
  });

  it('prefers values from the environment over defaults', async () => {
    const given = {
      API_KEY: 'a-key-of-my-own-choice',
      LOG_LEVEL: 'silent',
      WEBHOOK_ALLOW_NETWORKS: '',
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    };
    const launch = checkout.start(given);
    expect((await stateOf(await launch.gateway())).environment).toMatchObject(given);
    expect(launch.output).not.toContain('Phone page');
    expect(launch.output).not.toContain(given.API_KEY);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'stops all processes on %s, the simulator after the gateway and the worker, and continues with the same data on the next start',
    async (signal) => {
      const first = checkout.start();
      expect(await increment(await first.gateway())).toBe(1);
      const key = (await first.printed(/API key +(\S+)/))[1];
      const processes = await processesOf(first);
      first.signal(signal);
      first.signal(signal);
      expect(await first.exited).toBe(0);
      expect(processes.filter(isRunning)).toEqual([]);
      const order = (await readFile(checkout.path('.data/ended.txt'), 'utf8')).trim().split('\n');
      expect(order.toSorted()).toEqual(['gateway', 'simulator', 'worker']);
      expect(order.at(-1)).toBe('simulator');

      const second = checkout.start();
      expect(await increment(await second.gateway())).toBe(2);
      expect((await second.printed(/API key +(\S+)/))[1]).toBe(key);
    },
  );

  it('ends with status 0 if a repeated Ctrl-C arrives when everything has stopped', async () => {
    const launch = checkout.start();
    await launch.gateway();
    launch.signal('SIGINT');
    await launch.printed(/Stopping/);
    const repeat = setInterval(() => {
      launch.signal('SIGINT');
    }, 1);
    try {
      expect(await launch.exited).toBe(0);
    } finally {
      clearInterval(repeat);
    }
  });

  it('kills everything at a repeated Ctrl-C, also a Redis that does not shut down', async () => {
    const launch = checkout.start();
    await launch.gateway();
    const processes = await processesOf(launch);
    process.kill(processes.at(-1) ?? 0, 'SIGSTOP');
    const began = performance.now();
    launch.signal('SIGINT');
    await launch.printed(/Stopping/);
    const repeat = setInterval(() => {
      launch.signal('SIGINT');
    }, 100);
    try {
      await launch.exited;
    } finally {
      clearInterval(repeat);
    }
    // Without the repetition, Redis has 15 seconds.
    expect(performance.now() - began).toBeLessThan(12_000);
    expect(processes.filter(isRunning)).toEqual([]);
  });

  it('makes its secrets readable for the owner only', async () => {
    await checkout.start().gateway();
    expect((await stat(checkout.path('.data/secrets.json'))).mode & 0o777).toBe(0o600);
    expect((await stat(checkout.path('.data'))).mode & 0o777).toBe(0o700);
  });

  it('leaves no process running after SIGKILL, and starts again with the same data', async () => {
    const first = checkout.start();
    expect(await increment(await first.gateway())).toBe(1);
    const processes = await processesOf(first);
    first.signal('SIGKILL');
    await first.exited;
    await waitUntil(() => !processes.some(isRunning));
    const second = checkout.start();
    expect(await increment(await second.gateway())).toBe(2);
  });

  it('stops all processes when the shell between npm and the launcher is terminated', async () => {
    const launch = checkout.start({ npm_lifecycle_event: 'start' });
    await launch.gateway();
    const processes = await processesOf(launch);
    launch.signal('SIGTERM');
    await launch.exited;
    await waitUntil(() => !processes.some(isRunning));
    expect(launch.output).toMatch(/Stopping …\nStopped\.\n$/);
  });

  it('refuses to start twice in one checkout, and names the running process', async () => {
    const first = checkout.start();
    const gateway = await first.gateway();
    const second = checkout.start();
    expect(await second.exited).toBe(78);
    expect(second.output).toBe(
      `Tidings is already running in this checkout: process ${first.pid}, ${gateway}\n`,
    );
    expect(await increment(gateway)).toBe(1);
  });

  it('restarts a crashed process, and prints the crash and the restart', async () => {
    const launch = checkout.start();
    const gateway = await launch.gateway();
    const { pid } = await stateOf(await launch.simulator());
    process.kill(pid, 'SIGKILL');
    await launch.printed(/simulator exited \(SIGKILL\); restarting in 1 s/);
    await launch.printed(/simulator is running again/);
    expect(await increment(gateway)).toBe(1);
  });

  it('restarts a crashed Redis at the same address with the same data', async () => {
    const launch = checkout.start();
    const gateway = await launch.gateway();
    expect(await increment(gateway)).toBe(1);
    const redis = (await processesOf(launch)).at(-1) ?? 0;
    process.kill(redis, 'SIGKILL');
    await launch.printed(/redis is running again/);
    expect(await increment(gateway)).toBe(2);
  });

  it('exits with status 78 if the port of the gateway is in use, and prints the error of the gateway', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const address = blocker.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const launch = checkout.start({ PORT: String(port) });
    expect(await launch.exited).toBe(78);
    expect(launch.output).toContain(`gateway: PORT is ${String(port)}, which another process uses`);
    expect(launch.output).not.toContain('Tidings is running');
    blocker.close();
  });

  it('exits with status 78 and the error of Redis if the data file is damaged', async () => {
    const first = checkout.start();
    for (let times = 0; times < 20; times++) await increment(await first.gateway());
    await first.stop();
    const log = checkout.path('.data/redis/appendonlydir/appendonly.aof.1.incr.aof');
    const text = await readFile(log, 'latin1');
    await writeFile(log, text.slice(0, 100) + 'damaged' + text.slice(105), 'latin1');
    const second = checkout.start();
    expect(await second.exited).toBe(78);
    expect(second.output).toMatch(/Bad file format .* redis-check-aof --fix/);
  });

  it('does not replace a damaged secrets file, and reports the damage', async () => {
    await mkdir(checkout.path('.data'));
    await writeFile(checkout.path('.data/secrets.json'), '{"encryptionKey": ');
    const launch = checkout.start();
    expect(await launch.exited).toBe(78);
    expect(launch.output).toContain('secrets.json is damaged');
  });

  it('takes over the lock of a process that no longer exists', async () => {
    await mkdir(checkout.path('.data'));
    const former = { pid: process.pid, started: 'another-boot/1', token: 'x' };
    await writeFile(checkout.path('.data/launcher.lock'), JSON.stringify(former));
    await checkout.start().gateway();
  });

  it('requires Redis 7.0 or newer', async () => {
    await installOldRedis();
    const launch = checkout.start({ PATH: `${checkout.path('bin')}:/nowhere` });
    expect(await launch.exited).toBe(78);
    expect(launch.output).toContain('version 6.0.16, but 7.0 or newer is needed');
  });

  it('needs no local Redis if REDIS_URL is set', async () => {
    await installOldRedis();
    const launch = checkout.start({ PATH: checkout.path('bin'), REDIS_URL: 'redis://127.0.0.1:9' });
    const { environment } = await stateOf(await launch.gateway());
    expect(environment['REDIS_URL']).toBe('redis://127.0.0.1:9');
    await expect(stat(checkout.path('.data/redis'))).rejects.toThrow(/ENOENT/);
  });

  it('exits with the error of a process that repeatedly fails to start', async () => {
    await using changed = await Checkout.make();
    await writeFile(changed.path('apps/worker/src/main.ts'), "throw new Error('startup failed');");
    const launch = changed.start();
    expect(await launch.exited).toBe(1);
    expect(launch.output).toContain('worker: Error: startup failed');
    expect(launch.output).toContain('worker exited before it was ready (exit status 1); restarting in 2 s');
  });

  it('exits with status 1 and names the file if a source file has a compile error', async () => {
    await using changed = await Checkout.make();
    await writeFile(changed.path('apps/worker/src/main.ts'), 'const = 1;');
    const launch = changed.start();
    expect(await launch.exited).toBe(1);
    expect(launch.output).toContain('apps/worker/src/main.ts');
  });
});

async function installOldRedis(): Promise<void> {
  await mkdir(checkout.path('bin'), { recursive: true });
  const program = checkout.path('bin/redis-server');
  await writeFile(
    program,
    '#!/bin/sh\necho "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64"\n',
  );
  await chmod(program, 0o755);
}
