import { randomBytes } from 'node:crypto';
import { chmod, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError, DeadlineError, pause, withDeadline } from '#platform';
import { findRedisServer } from './find-redis-server.js';
import { findFreePort } from './free-port.js';
import {
  requestRedisShutdown,
  waitForProcessEnd,
  readRedisServerHealth,
  readRedisServerIdentity,
} from './redis-control.js';
import { type RedisExit, type ServerProcess, startRedisServerProcess } from './server-process.js';
import { RedisCredentialsFile } from './redis-credentials-file.js';
import { redisUrl, type Credentials, redisConfiguration } from './settings.js';

/**
 * Maximum time without an answer of a starting server, in milliseconds. Each answer that the server is still loading
 * its data restarts this time.
 */
const ANSWER_WITHIN_MS = 15_000;
const LOADED_WITHIN_MS = 30 * 60_000;
const SHUT_DOWN_WITHIN_MS = 15_000;
const CHECK_EVERY_MS = 20;
const PORT_ATTEMPTS = 10;

export interface EmbeddedRedisOptions {
  /**
   * Folder in which Redis stores its append-only file. It is created if missing. Only one process may use it
   * at a time.
   */
  dataDirectory: string;
  /** Path of the Redis server program. If absent, the program is searched for on the PATH. */
  binary?: string;
  /** Called with every line of the server's output. */
  log?: (line: string) => void;
  /** If this signal is aborted during the start, the start is stopped, and {@link startEmbeddedRedis} rejects. */
  signal?: AbortSignal;
  /** Time in which a starting server must answer, in milliseconds. Meant for tests only. */
  answerWithinMs?: number;
}

/** A private Redis server on 127.0.0.1. It runs as a child process of this process. */
export interface EmbeddedRedis {
  /** Address of the server, in the form `redis://:password@127.0.0.1:port`. A restart does not change it. */
  readonly url: string;
  readonly port: number;
  /** Process id of the running Redis server. A restart changes it. */
  readonly pid: number;
  /** Resolves when the current server process has ended. After a restart, read the property again. */
  readonly exited: Promise<RedisExit>;
  /**
   * Shuts the server down, and kills it if it has not ended after {@link SHUT_DOWN_WITHIN_MS}. Resolves when the
   * server process has ended.
   */
  stop(): Promise<void>;
  /** Sends a signal to the server process. Meant for tests only. */
  kill(signal: NodeJS.Signals): void;
  /**
   * Stops the server, then starts it again with the same address and data.
   * @param signal if aborted during the start, the start is stopped, and the promise rejects
   */
  restart(signal?: AbortSignal): Promise<void>;
}

/**
 * Starts a private Redis server, and waits until the server has loaded its data and answers. If an earlier server
 * still uses the same data, because the process that started that server was killed, first shuts that server down.
 *
 * @throws {ConfigurationError} if no suitable server program is found, if an earlier server does not shut down, or if
 * the new server exits during the start; in the last case, the message quotes the server's output
 * @throws {DeadlineError} if the server does not answer in time
 * @throws {Error} if the program cannot be run, if the start is aborted, or if other processes take each port that
 * the server tries
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const program = options.binary ?? (await requireProgram());
  await mkdir(options.dataDirectory, { recursive: true, mode: 0o700 });
  await chmod(options.dataDirectory, 0o700);
  const directory = await realpath(options.dataDirectory);
  const credentialsFile = new RedisCredentialsFile(directory);
  await endFormerServer(credentialsFile, directory);

  const log = options.log ?? (() => undefined);
  const { answerWithinMs = ANSWER_WITHIN_MS } = options;
  const run = (credentials: Credentials, signal?: AbortSignal): Promise<ServerProcess> =>
    runServer({ program, directory, log, answerWithinMs }, credentials, signal);
  let credentials = await newCredentials(credentialsFile);
  let server: ServerProcess | undefined;
  for (let attempt = 1; server === undefined; attempt++) {
    try {
      server = await run(credentials, options.signal);
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === PORT_ATTEMPTS) throw error;
      credentials = await newCredentials(credentialsFile);
    }
  }
  return new RunningRedis(server, credentials, run, credentialsFile);
}

class RunningRedis implements EmbeddedRedis {
  readonly url: string;
  readonly port: number;
  private stopping: Promise<void> | undefined;

  constructor(
    private server: ServerProcess,
    private readonly credentials: Credentials,
    private readonly run: (credentials: Credentials, signal?: AbortSignal) => Promise<ServerProcess>,
    private readonly credentialsFile: RedisCredentialsFile,
  ) {
    this.url = redisUrl(credentials);
    this.port = credentials.port;
  }

  get pid(): number {
    return this.server.pid;
  }

  get exited(): Promise<RedisExit> {
    return this.server.exited;
  }

  async stop(): Promise<void> {
    this.stopping ??= this.end();
    await this.stopping;
  }

  kill(signal: NodeJS.Signals): void {
    this.server.kill(signal);
  }

  async restart(signal?: AbortSignal): Promise<void> {
    await this.stop();
    await this.credentialsFile.write(this.credentials);
    this.server = await this.run(this.credentials, signal);
    this.stopping = undefined;
  }

  private async end(): Promise<void> {
    await requestRedisShutdown(this.credentials);
    try {
      await withDeadline(this.server.exited, SHUT_DOWN_WITHIN_MS, 'Redis: shutting down');
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      // A kill loses no data, because every acknowledged write is already on disk.
      this.server.kill('SIGKILL');
      await this.server.exited;
    }
    await this.credentialsFile.remove();
  }
}

/** Thrown if another process took the port before the Redis server could listen on it. */
class PortTakenError extends Error {}

async function requireProgram(): Promise<string> {
  const search = await findRedisServer();
  if (search.found) return search.path;
  throw new ConfigurationError([`Redis: ${search.reason}; install Redis 7.0 or newer, or set REDIS_URL`]);
}

async function newCredentials(credentialsFile: RedisCredentialsFile): Promise<Credentials> {
  const credentials = { port: await findFreePort(), password: randomBytes(24).toString('hex') };
  await credentialsFile.write(credentials);
  return credentials;
}

/**
 * Shuts down the Redis server of an earlier process, if that server still runs on this data directory.
 * @throws {ConfigurationError} if the server does not shut down in time
 */
async function endFormerServer(credentialsFile: RedisCredentialsFile, directory: string): Promise<void> {
  const credentials = credentialsFile.read();
  if (credentials === undefined) return;
  const former = await readRedisServerIdentity(credentials);
  if (former?.directory !== directory) return;
  await requestRedisShutdown(credentials);
  if (await waitForProcessEnd(former.pid, SHUT_DOWN_WITHIN_MS)) return;
  throw new ConfigurationError([
    `Redis: process ${former.pid} still uses ${directory} and does not shut down; end it with: kill ${former.pid}`,
  ]);
}

/** Settings that are the same at every start of a server, in contrast to its credentials. */
interface ServerSettings {
  program: string;
  directory: string;
  log: (line: string) => void;
  answerWithinMs: number;
}

async function runServer(
  { program, directory, log, answerWithinMs }: ServerSettings,
  credentials: Credentials,
  signal: AbortSignal | undefined,
): Promise<ServerProcess> {
  const server = await startRedisServerProcess(program, redisConfiguration(credentials, directory), log);
  let exit: RedisExit | undefined;
  void server.exited.then((how) => {
    exit = how;
  });
  const began = performance.now();
  // When the server last answered that it still loads its data. While it loads much data, it may leave some checks
  // unanswered.
  let lastAnswerAt = began;
  for (
    let health = await readRedisServerHealth(credentials);
    health !== 'ready';
    health = await readRedisServerHealth(credentials)
  ) {
    if (exit !== undefined) throw reasonOf(exit, directory);
    if (signal?.aborted === true) {
      // Loading the data may take many minutes. A kill loses no data, because every acknowledged write is already on disk.
      server.kill('SIGKILL');
      await server.exited;
      signal.throwIfAborted();
    }
    if (health === 'loading') lastAnswerAt = performance.now();
    const [since, timeoutMs] =
      health === 'loading' ? [began, LOADED_WITHIN_MS] : [lastAnswerAt, answerWithinMs];
    if (performance.now() - since > timeoutMs) {
      server.kill('SIGKILL');
      await server.exited;
      throw new DeadlineError('Redis: answering a first PING', timeoutMs);
    }
    await pause(CHECK_EVERY_MS);
  }
  return server;
}

/** Matches log lines that Redis writes at every start. They do not explain why a start failed. */
const START_UP_LINES =
  /^(Reading config|oO0Oo|Redis version|Valkey version|Configuration loaded|Server initialized|WARNING|$)/;

/**
 * Returns the error for a server that did not start: a {@link PortTakenError} if its port was taken, otherwise a
 * `ConfigurationError`. The message quotes the last lines of the server's output. If the data file is damaged, the
 * message also says how to repair it.
 */
function reasonOf({ code, signal, lastOutput }: RedisExit, directory: string): Error {
  const words = lastOutput
    .filter((line) => !/^\d+:\w .*? [*.-] /.test(line))
    .map(withoutPrefix)
    .filter((line) => !START_UP_LINES.test(line))
    .join(' ');
  if (/address already in use/i.test(words)) return new PortTakenError(words);
  const ended = signal === null ? `exit status ${String(code)}` : signal;
  const remedy = /append only file|AOF|manifest/i.test(words)
    ? `; to keep what can be read, copy ${directory} to a safe place, then run: redis-check-aof --fix ${join(directory, 'appendonlydir', 'appendonly.aof.manifest')}`
    : '';
  return new ConfigurationError([`Redis did not start on ${directory} (${ended}): ${words}${remedy}`]);
}

/** Removes the prefix of a log line, such as `1234:M 01 Jan 2025 10:00:00.000 # `. */
function withoutPrefix(line: string): string {
  return line.replace(/^\d+:\w .*? # /, '').trim();
}
