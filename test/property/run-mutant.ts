import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutants.js';

/** Time after which the run of one mutant ends as a failure, in milliseconds. */
export const MUTANT_DEADLINE_MS = 600_000;

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs a spec with a deliberate fault in the product, in a process of its own.
 * @param args further arguments of Jest
 * @param environment further environment variables
 */
export async function runWithMutant(
  mutant: Mutant,
  spec: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    ['node_modules/jest/bin/jest.js', '--runInBand', '--verbose', ...args, spec],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...environment,
        TIDINGS_MUTANT: JSON.stringify({ name: mutant.name, patches: mutant.patches }),
      },
      signal: AbortSignal.timeout(MUTANT_DEADLINE_MS),
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (output += part.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, output };
}
