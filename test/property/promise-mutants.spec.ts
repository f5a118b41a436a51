/** Tests tests: the spec of each promise must find a fault that breaks the promise. */
import { describe, expect, it } from '@jest/globals';
import { PROMISE_MUTANTS } from './promise-mutants.js';
import { MUTANT_DEADLINE_MS, runWithMutant } from './run-mutant.js';

describe('the spec of a promise', () => {
  it.each(PROMISE_MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'fails if this fault is inserted into the product: %s',
    async (_, mutant) => {
      const { code, output } = await runWithMutant(mutant, mutant.spec, ['-t', mutant.test]);
      const failed = /^Tests: +(\d+) failed/m.exec(output)?.[1];
      // Shows why no test ran, or that none failed.
      if (failed === undefined) process.stdout.write(`${output.slice(-2_000)}\n`);
      expect(Number(failed)).toBeGreaterThan(0);
      expect(code).toBe(1);
    },
    MUTANT_DEADLINE_MS,
  );
});
