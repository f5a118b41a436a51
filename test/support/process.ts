import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const HERE = resolve(import.meta.dirname, '../..');

/** Root of the checkout, also for benchmarks, which run from `dist`. */
export const ROOT = basename(HERE) === 'dist' ? resolve(HERE, '..') : HERE;

/** A process of the product that runs from `dist`. */
export interface ProductProcess {
  /** Port that the process listens on. */
  readonly port: number;
  readonly child: ChildProcess;
  /** Everything written to standard output and standard error until now. */
  readonly output: () => string;
  /**
   * Sends a signal, waits for the end of the process, and returns its exit code: null if a signal ended the process.
   * @throws {Error} if the process did not end in time, or was ended by a signal that no test sent, such as SIGABRT when
   * its memory runs out
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export type ProductName = 'gateway' | 'worker' | 'simulator';

const START_TIMEOUT_MS = 60_000;
/** Within this time of a signal, each process must end. */
const STOP_TIMEOUT_MS = 20_000;

/** Starts a process and waits until it reports over IPC that it is ready. */
export async function startProcess(
  name: ProductName,
  environment: Readonly<Record<string, string>>,
): Promise<ProductProcess> {
  const { child, output } = spawnProduct(name, environment, true);
  const sent = signalsSentTo(child);
  const port = await new Promise<number>((resolvePort, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${name} was not ready within ${START_TIMEOUT_MS} ms:\n${output()}`));
    }, START_TIMEOUT_MS);
    child.on('message', (message) => {
      const { type, port: ready } = message as { type?: string; port?: number };
      if (type !== 'ready' || ready === undefined) return;
      clearTimeout(late);
      resolvePort(ready);
    });
    child.once('exit', (code) => {
      clearTimeout(late);
      reject(new Error(`${name} ended with ${String(code)} before it was ready:\n${output()}`));
    });
  });
  return { port, child, output, stop: (signal = 'SIGTERM') => stop(child, signal, sent) };
}

/** Runs a process that exits on its own. Returns its exit code and output. */
export async function runToEnd(
  name: ProductName,
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; stderr: string }> {
  const { child, stderr } = spawnProduct(name, environment, false);
  const late = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  return { code, stderr: stderr() };
}

/** A command that exits on its own. */
export interface Command {
  readonly child: ChildProcess;
  /** Exit code (null if a signal ended the command) and output. */
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** Starts a command in the root of the checkout. @param deadlineMs time after which the command is killed */
export function startCommand(
  file: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  deadlineMs = START_TIMEOUT_MS,
): Command {
  const { child, texts } = spawnIn(file, parameters, environment, false);
  const late = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(late);
    return { code: code as number | null, stdout: texts.out, stderr: texts.err };
  });
  return { child, ended };
}

function spawnProduct(
  name: ProductName,
  environment: Readonly<Record<string, string>>,
  ipc: boolean,
): { child: ChildProcess; output: () => string; stderr: () => string } {
  const script = join(ROOT, `dist/${name}.js`);
  const { child, texts } = spawnIn(process.execPath, [script], environment, ipc);
  return { child, output: () => texts.out + texts.err, stderr: () => texts.err };
}

function spawnIn(
  file: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  ipc: boolean,
): { child: ChildProcess; texts: { out: string; err: string } } {
  const child = spawn(file, parameters, {
    cwd: ROOT,
    // Environment variables of the machine must not affect a test.
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  });
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (text: Buffer) => (texts.out += text.toString()));
  child.stderr?.on('data', (text: Buffer) => (texts.err += text.toString()));
  return { child, texts };
}

/** Returns the signals that this process will have sent to a child. */
function signalsSentTo(child: ChildProcess): ReadonlySet<string> {
  const sent = new Set<string>();
  const kill = child.kill.bind(child);
  child.kill = (signal = 'SIGTERM') => {
    sent.add(String(signal));
    return kill(signal);
  };
  return sent;
}

async function stop(
  child: ChildProcess,
  signal: NodeJS.Signals,
  sent: ReadonlySet<string>,
): Promise<number | null> {
  if (!hasEnded(child)) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await Promise.race([gone, pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    if (!hasEnded(child)) {
      child.kill('SIGKILL');
      await gone;
      throw new Error(`the process did not end within ${STOP_TIMEOUT_MS} ms of ${signal}`);
    }
  }
  const { exitCode, signalCode } = child;
  if (signalCode !== null && !sent.has(signalCode))
    throw new Error(`the process was ended by ${signalCode}, which no test sent`);
  return exitCode;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
