import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ConfigurationError, DeadlineError, withDeadline } from '#platform';
import type { Narrator } from './narrator.js';
import { type Run, type Service, StartFailure } from './service.js';

const READY_WITHIN_MS = 60_000;
/** A process may take this long to end what is in flight. */
const STOP_WITHIN_MS = 20_000;

export interface ChildProgram {
  name: string;
  /** The script for Node, an absolute path. */
  script: string;
  environment: NodeJS.ProcessEnv;
  directory: string;
}

/**
 * A process of the product as a child. It sends `{ type: 'ready', port }` when it serves, ends in good order on
 * SIGTERM or when its channel to this process closes, and ends with status 78 and a line a fault on its standard
 * error when it cannot run as configured.
 */
export class ChildService implements Service {
  readonly name: string;

  constructor(
    private readonly program: ChildProgram,
    private readonly narrator: Narrator,
  ) {
    this.name = program.name;
  }

  async run(signal: AbortSignal, hurry: AbortSignal): Promise<Run> {
    const child = this.spawn();
    const ended = endOf(child);
    const settled = new AbortController();
    try {
      const port = await withDeadline(
        Promise.race([readyOf(child), failureOf(this.name, ended), abortionOf(signal, settled.signal)]),
        READY_WITHIN_MS,
        `${this.name}: starting`,
      );
      const stop = (): Promise<void> => endChild(child, ended, hurry);
      return { port, ended: ended.then(({ words }) => words), stop };
    } catch (error) {
      await endChild(child, ended, error instanceof DeadlineError ? AbortSignal.abort() : hurry);
      throw error;
    } finally {
      settled.abort();
    }
  }

  private spawn(): ChildProcess {
    const { script, environment, directory } = this.program;
    // A process group of its own: a terminal sends Ctrl-C to its whole group, and the order of stopping is ours.
    // A child outlives nobody all the same: it ends when its channel to this process closes.
    const child = spawn(process.execPath, ['--enable-source-maps', script], {
      cwd: directory,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    read(child.stdout, (line) => {
      this.narrator.output(line);
    });
    read(child.stderr, (line) => {
      this.narrator.error(line);
    });
    return child;
  }
}

function read(stream: Readable | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', take);
}

interface End {
  code: number | null;
  words: string;
}

function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ code: null, words: error.message });
    });
    // Not `exit`: what it still had to say has then been read as well.
    child.once('close', (code, signal) => {
      resolve({ code, words: signal ?? `exit status ${String(code)}` });
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

async function failureOf(name: string, ended: Promise<End>): Promise<never> {
  const { code, words } = await ended;
  // The faults are on the console already, as the process wrote them.
  if (code === ConfigurationError.exitCode) throw new ConfigurationError([]);
  throw new StartFailure(`${name} ended before it was ready (${words})`);
}

/** Rejects when the signal aborts; stops listening to it when the other one does. */
function abortionOf(signal: AbortSignal, settled: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => {
      reject(new StartFailure('stopped'));
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true, signal: settled });
  });
}

async function endChild(child: ChildProcess, ended: Promise<End>, hurry: AbortSignal): Promise<void> {
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  child.kill('SIGTERM');
  const timer = setTimeout(kill, STOP_WITHIN_MS);
  if (hurry.aborted) kill();
  hurry.addEventListener('abort', kill, { once: true });
  await ended;
  clearTimeout(timer);
  hurry.removeEventListener('abort', kill);
}
