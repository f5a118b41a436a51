import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ConfigurationError, DeadlineError, withDeadline } from '#platform';
import type { OutputRecorder } from './output-recorder.js';
import { type Run, type Service, StartFailure } from './service.js';

/** Time within which a process must report that it is ready. */
const START_TIMEOUT_MS = 60_000;
/** Time that a process gets to stop before it is killed, in milliseconds. */
const STOP_TIMEOUT_MS = 20_000;

/** A program to run as a child process. */
export interface ChildProgram {
  name: string;
  /** Absolute path of the Node.js script. */
  script: string;
  environment: NodeJS.ProcessEnv;
  directory: string;
}

/**
 * Runs a process of the product as a child process. The child sends `{ type: 'ready', port }` when it accepts
 * requests. It stops on SIGTERM, or when its channel to this process closes. If its configuration is invalid,
 * it prints one line per problem to standard error and exits with status 78.
 */
export class ChildService implements Service {
  readonly name: string;

  constructor(
    private readonly program: ChildProgram,
    private readonly recorder: OutputRecorder,
  ) {
    this.name = program.name;
  }

  async run(signal: AbortSignal, forceStop: AbortSignal): Promise<Run> {
    const child = this.spawn();
    const ended = endOf(child);
    const settled = new AbortController();
    try {
      const port = await withDeadline(
        Promise.race([readyOf(child), failureOf(this.name, ended), abortionOf(signal, settled.signal)]),
        START_TIMEOUT_MS,
        `${this.name}: starting`,
      );
      const stop = (): Promise<void> => endChild(child, ended, forceStop);
      return { port, ended: ended.then(({ text }) => text), stop };
    } catch (error) {
      await endChild(child, ended, error instanceof DeadlineError ? AbortSignal.abort() : forceStop);
      throw error;
    } finally {
      settled.abort();
    }
  }

  private spawn(): ChildProcess {
    const { script, environment, directory } = this.program;
    // The child gets a process group of its own: a terminal sends Ctrl-C to a whole group, but the launcher
    // decides the order of stopping. The child still stops with the launcher, because its channel to this
    // process closes.
    const child = spawn(process.execPath, ['--enable-source-maps', script], {
      cwd: directory,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    forEachLine(child.stdout, (line) => {
      this.recorder.output(line);
    });
    forEachLine(child.stderr, (line) => {
      this.recorder.error(line);
    });
    return child;
  }
}

function forEachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', onLine);
}

interface ExitInfo {
  code: number | null;
  text: string;
}

function endOf(child: ChildProcess): Promise<ExitInfo> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ code: null, text: error.message });
    });
    // `close` instead of `exit`: all output has been read by then.
    child.once('close', (code, signal) => {
      resolve({ code, text: signal ?? `exit status ${String(code)}` });
    });
  });
}

function readyOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('message', (message: unknown) => {
      if (typeof message !== 'object' || message === null) return;
      if (!('type' in message) || message.type !== 'ready') return;
      if ('port' in message && typeof message.port === 'number') resolve(message.port);
    });
  });
}

async function failureOf(name: string, ended: Promise<ExitInfo>): Promise<never> {
  const { code, text } = await ended;
  // The process has already printed the problems to the console.
  if (code === ConfigurationError.exitCode) throw new ConfigurationError([]);
  throw new StartFailure(`the process ${name} exited before it was ready (${text})`);
}

/** Rejects when the signal aborts. Stops listening when `settled` aborts. */
function abortionOf(signal: AbortSignal, settled: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => {
      reject(new StartFailure('stopped'));
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true, signal: settled });
  });
}

async function endChild(
  child: ChildProcess,
  ended: Promise<ExitInfo>,
  forceStop: AbortSignal,
): Promise<void> {
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  child.kill('SIGTERM');
  const timer = setTimeout(kill, STOP_TIMEOUT_MS);
  if (forceStop.aborted) kill();
  forceStop.addEventListener('abort', kill, { once: true });
  await ended;
  clearTimeout(timer);
  forceStop.removeEventListener('abort', kill);
}
