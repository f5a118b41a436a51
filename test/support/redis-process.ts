import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { redisProgram } from './redis-program.js';

/** A layout of Redis processes on which the product can run. */
export interface RedisLayout extends AsyncDisposable {
  /** Value for `REDIS_URL`. */
  readonly url: string;
  /** Ends all processes of the layout and removes their data. */
  dispose(): Promise<void>;
}

/** One server process of a layout: a master, a replica or a sentinel. */
export interface RedisProcess {
  readonly port: number;
  /** Process id. A restart changes it. */
  readonly pid: number;
  /** Runs a command on a separate connection. */
  ask(command: string, ...args: (string | number)[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Ends the process by any means; resolves after its end. */
  end(): Promise<void>;
  /** Starts the process again with the same port and data. */
  restart(): Promise<void>;
}

/** Options of {@link startRedisProcess}. */
export interface RedisProcessOptions {
  /** Data directory of this process only; created if missing. */
  directory: string;
  port: number;
  settings: readonly string[];
  /** Password of its clients; undefined for a sentinel. */
  password?: string;
  sentinel?: boolean;
}

/** Settings of every data server: a kill loses no acknowledged write. */
export function dataSettings(password: string): string[] {
  return [
    `requirepass ${password}`,
    `masterauth ${password}`,
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory-policy noeviction',
    // Without this, a master waits five seconds for more replicas before it sends its data to the first.
    'repl-diskless-sync-delay 0',
  ];
}

/**
 * Ports below those that Linux gives to outgoing connections. Such a connection could take a port after the check that
 * the port is free, and before the server listens.
 */
const PORTS = { first: 10_000, last: 32_767 };

/** Returns different TCP ports of 127.0.0.1 that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  // All ports stay open until all are known, so that none is returned twice.
  const servers: Server[] = [];
  const ports: number[] = [];
  try {
    while (ports.length < count) {
      const port = randomInt(PORTS.first, PORTS.last + 1);
      const server = createServer().listen(port, '127.0.0.1');
      try {
        await once(server, 'listening');
      } catch {
        // Another process listens on this port.
        continue;
      }
      servers.push(server);
      ports.push(port);
    }
    return ports;
  } finally {
    for (const server of servers) server.close();
  }
}

/** Starts a server and waits until it responds. */
export async function startRedisProcess(options: RedisProcessOptions): Promise<RedisProcess> {
  const { directory, port, settings, password, sentinel = false } = options;
  const program = await redisProgram();
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'redis.conf');
  const always = ['bind 127.0.0.1', `port ${port}`, `dir ${directory}`, 'daemonize no', 'logfile ""'];
  // Sentinels store their state in this file, so it is written only once.
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
    child = spawn(program, [file, ...(sentinel ? ['--sentinel'] : [])], { stdio: 'ignore' });
    guard(child);
    await eventually(
      `Redis responds on port ${port}, or has ended`,
      async () => hasEnded(child) || (await ask('PING')) === 'PONG',
    );
    if (hasEnded(child)) throw new Error(`Redis ended at its start on port ${port}`);
  };
  const end = async (): Promise<void> => {
    if (hasEnded(child)) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await run();
  return {
    port,
    get pid() {
      return child.pid ?? Number.NaN;
    },
    ask,
    kill: (signal) => child.kill(signal),
    end,
    restart: async () => {
      await end();
      await run();
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Starts a shell that ends the server when this process ends for any reason. */
function guard(server: ChildProcess): void {
  const shell = spawn('/bin/sh', ['-c', 'read -r _; kill -KILL "$1" 2>/dev/null', 'sh', String(server.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  server.once('exit', () => {
    // The id of the ended server may soon belong to another process, which the shell must not end.
    shell.kill('SIGKILL');
    shell.stdin.destroy();
  });
}
