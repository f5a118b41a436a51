import { Console } from 'node:console';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { Terminal } from '../../apps/cli/src/command-context.js';
import { runProgram } from '../../apps/cli/src/run-program.js';
import { type Command, startCommand } from './process.js';
import type { Product } from './product.js';
import type { RedisLayout } from './redis-process.js';

/** What a run of `tidings` printed, and its exit code. */
export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Starts `tidings` as a process with only the given settings.
 * @param deadlineMs time after which the process is killed; by default a minute
 */
export function startTidings(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  deadlineMs?: number,
): Command {
  const variables = { HOME: '/nonexistent', ...environment };
  return startCommand(process.execPath, ['dist/cli.js', ...parameters], variables, deadlineMs);
}

/** Runs `tidings` to its end. */
export async function runTidings(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Run> {
  return await startTidings(parameters, environment).ended;
}

/**
 * Runs `tidings` to its end in this process, which takes a tenth of the CPU of a process. For tests of what commands do,
 * not of how a process starts, reads, prints and ends.
 */
export async function runTidingsInside(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Run> {
  const run: Run = { code: 0, stdout: '', stderr: '' };
  const never = new AbortController().signal;
  const terminal: Terminal = {
    stdin: Readable.from([]) as NodeJS.ReadStream,
    stdout: { write: (text) => (run.stdout += text) },
    stderr: { write: (text) => (run.stderr += text) },
    questions: new PassThrough().resume(),
    environment: { HOME: '/nonexistent', ...environment },
    signal: never,
    outputEnd: never,
    setExitCode: (code) => {
      run.code = code;
    },
  };
  // Packages report what nobody handles to the console, which would be the output of the process.
  const { console } = globalThis;
  globalThis.console = new Console(
    sink((text) => (run.stdout += text)),
    sink((text) => (run.stderr += text)),
  );
  try {
    await runProgram(terminal, ['node', 'tidings', ...parameters], () => undefined);
  } finally {
    globalThis.console = console;
  }
  return run;
}

function sink(take: (text: string) => void): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      take(chunk.toString());
      done();
    },
  });
}

/** Variables with which `tidings` reaches the gateway of a product. */
export function reaching(product: Product<RedisLayout>): Record<string, string> {
  return { TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`, TIDINGS_API_KEY: product.apiKey };
}

/** Parses the JSON lines that a command printed. @throws {Error} if it failed */
export function jsonLines<T>({ code, stdout, stderr }: Run): T[] {
  if (code !== 0) throw new Error(`tidings ended with ${String(code)}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
