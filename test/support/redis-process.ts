import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '#embedded-redis';
import { eventually } from './eventually.js';

/** Any layout of Redis processes that the product may be run on. */
export interface RedisLayout extends AsyncDisposable {
  /** As `REDIS_URL` has it. */
  readonly url: string;
  /** Ends all of its processes and removes their data. */
  dispose(): Promise<void>;
}

/** One server process of a layout: a master, a replica or a sentinel. */
export interface RedisProcess {
  readonly port: number;
  /** Runs a command on a connection of its own. */
  ask(command: string, ...args: (string | number)[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it, however; resolves when it has ended. */
  end(): Promise<void>;
  /** Runs it again on the same port and data. */
  restart(): Promise<void>;
}

/** What a process is started with. */
export interface RedisProcessOptions {
  /** Its own; made if missing. */
  directory: string;
  port: number;
  settings: readonly string[];
  /** That its clients give; none for a sentinel. */
  password?: string;
  sentinel?: boolean;
}

/** The settings that every data server of a test has: nothing acknowledged is lost by a kill. */
export function dataSettings(password: string): string[] {
  return [
    `requirepass ${password}`,
    `masterauth ${password}`,
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory-policy noeviction',
  ];
}

/** TCP ports of 127.0.0.1 that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  // All are held until all are known: else one could be given twice.
  const servers = Array.from({ length: count }, () => createServer());
  return await Promise.all(
    servers.map(async (server) => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port was given');
      return address.port;
    }),
  ).finally(() => {
    for (const server of servers) server.close();
  });
}

/** Starts a server and waits until it answers. */
export async function startRedisProcess(options: RedisProcessOptions): Promise<RedisProcess> {
  const { directory, port, settings, password, sentinel = false } = options;
  const search = await findRedisServer();
  if (!search.found) throw new Error(search.reason);
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'redis.conf');
  const always = ['bind 127.0.0.1', `port ${port}`, `dir ${directory}`, 'daemonize no', 'logfile ""'];
  // Sentinels write what they learn into this file, so it is made once.
  await writeFile(file, [...always, ...settings, ''].join('\n'));

  const ask = async (command: string, ...args: (string | number)[]): Promise<unknown> => {
    const redis = new Redis({
      port,
      host: '127.0.0.1',
      ...(password === undefined ? {} : { password }),
      retryStrategy: () => null,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      commandTimeout: 2_000,
      disconnectTimeout: 50,
    });
    redis.on('error', () => undefined);
    try {
      return await redis.call(command, ...args);
    } finally {
      redis.disconnect();
    }
  };
  let child: ChildProcess;
  const run = async (): Promise<void> => {
    child = spawn(search.path, [file, ...(sentinel ? ['--sentinel'] : [])], { stdio: 'ignore' });
    guard(child);
    await eventually(`Redis answers on port ${port}`, async () => (await ask('PING')) === 'PONG');
  };
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await run();
  return {
    port,
    ask,
    kill: (signal) => child.kill(signal),
    end,
    restart: async () => {
      await end();
      await run();
    },
  };
}

/** A shell that ends the server when this process ends, however it does. */
function guard({ pid }: ChildProcess): void {
  const shell = spawn('/bin/sh', ['-c', 'read -r _; kill -KILL "$1" 2>/dev/null', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
}
