import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** How a server process ended, and the last lines that it wrote. */
export interface RedisExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  lastWords: readonly string[];
}

/** One run of a server program. */
export interface ServerProcess {
  readonly pid: number;
  readonly exited: Promise<RedisExit>;
  kill(signal: NodeJS.Signals): void;
}

const WORDS_KEPT = 20;

/** Starts the program with the configuration on its standard input. Rejects if the program cannot be run at all. */
export async function startServerProcess(
  program: string,
  settings: string,
  log: (line: string) => void,
): Promise<ServerProcess> {
  // A process group of its own: Ctrl-C reaches every process of the terminal's group at once, and Redis must be the
  // last to go.
  const child = spawn(program, ['-'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const words: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (words.push(line) > WORDS_KEPT) words.shift();
      log(line);
    });
  }
  const exited = new Promise<RedisExit>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, lastWords: words });
    });
  });
  // A server that ends before it has read everything is heard of by its exit.
  child.stdin.on('error', () => undefined);
  child.stdin.end(settings);
  const pid = await spawned(child);
  const guard = startGuard(pid);
  void exited.then(() => guard.kill('SIGKILL'));
  return {
    pid,
    exited,
    kill: (signal) => {
      child.kill(signal);
    },
  };
}

function spawned(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      if (child.pid === undefined) reject(new Error('the process has no id'));
      else resolve(child.pid);
    });
  });
}

/**
 * A shell that waits for its input to end, which happens when this process ends, however it does; it then asks the
 * server to stop. So a killed owner leaves no server behind. It is itself killed as soon as the server has ended.
 */
function startGuard(pid: number): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -TERM "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a guard the next owner ends the server: see ServerRecord.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}
