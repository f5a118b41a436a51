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
