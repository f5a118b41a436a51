import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Exit of a server process, with the last lines of its output. */
export interface RedisExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  lastOutput: readonly string[];
}

/** A running server process. */
export interface ServerProcess {
  readonly pid: number;
  readonly exited: Promise<RedisExit>;
  kill(signal: NodeJS.Signals): void;
}

const MAX_LINES_KEPT = 20;

/** Starts the program and passes the configuration on its standard input. Rejects if the program cannot be run. */
export async function startServerProcess(
  program: string,
  settings: string,
  log: (line: string) => void,
): Promise<ServerProcess> {
  // The server gets its own process group. Ctrl-C reaches all processes of the terminal's group at once, but Redis
  // must end last.
  const child = spawn(program, ['-'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const words: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (words.push(line) > MAX_LINES_KEPT) words.shift();
      log(line);
    });
  }
  const exited = new Promise<RedisExit>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, lastOutput: words });
    });
  });
  // If the server exits before it has read its input, its exit reports the error.
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
 * Starts a shell that waits for the end of its input, which comes when this process ends in any way. The shell then
 * stops the server, so that a killed owner leaves no server behind. The shell is killed when the server has ended.
 */
function startGuard(pid: number): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -TERM "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a guard, the next owner shuts the server down: see ServerRecord.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}
