import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** How a Redis server process exited, with the last lines of its output. */
export interface RedisExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  lastOutput: readonly string[];
}

/** A Redis server process that was started. */
export interface ServerProcess {
  readonly pid: number;
  readonly exited: Promise<RedisExit>;
  kill(signal: NodeJS.Signals): void;
}

const MAX_LINES_KEPT = 20;

/**
 * Starts the Redis server program and writes the configuration to its standard input. Rejects if the program
 * cannot be run.
 */
export async function startRedisServerProcess(
  program: string,
  settings: string,
  log: (line: string) => void,
): Promise<ServerProcess> {
  // `detached` gives the server a process group of its own, so that Ctrl-C in a terminal does not stop the server:
  // Redis must end last.
  const child = spawn(program, ['-'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    // With another locale, the Lua scripts would compare texts by the rules of the user's language.
    env: { ...process.env, LC_ALL: 'C' },
  });
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
  // Ignores the write error that occurs if the server exits before it has read its input. `exited` reports this exit.
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
 * Starts a shell that stops the Redis server when this process ends, even if this process is killed: the end
 * of this process closes the shell's standard input. The shell is killed when the server has ended.
 */
function startGuard(pid: number): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -TERM "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // If `/bin/sh` cannot be started, nothing stops the Redis server when the current process is killed. The next
  // start of the embedded Redis with the same data then stops the server; see RedisCredentialsFile.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}
