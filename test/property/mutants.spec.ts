/** Tests the property itself: the property must find each of these faults in the product. */
import { describe, expect, it } from '@jest/globals';
import { type Mutant, MUTANTS } from './mutants.js';
import { MUTANT_DEADLINE_MS, runWithMutant } from './run-mutant.js';

/** Number of histories after which a mutant counts as not found. */
const HISTORIES = Number(process.env['TIDINGS_HISTORIES'] ?? 1_000);
const SEED = 20_260_101;

/** Runs the property in a process of its own. Returns the exit status and the output. */
const runProperty = (mutant: Mutant): Promise<{ code: number | null; output: string }> =>
  runWithMutant(mutant, 'test/property/feed.property.spec.ts', [], {
    TIDINGS_HISTORIES: String(HISTORIES),
    TIDINGS_SEED: String(SEED),
  });

describe('the property test of emitted events', () => {
  it(
    'passes for the unchanged product',
    async () => {
      const { code, output } = await runProperty({ name: 'none', patches: [] });
      // Shows how to replay a history that failed.
      if (code !== 0) process.stdout.write(`${output}\n`);
      expect(output).toContain('histories in');
      expect(code).toBe(0);
    },
    MUTANT_DEADLINE_MS,
  );

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'fails if this fault is inserted into the product: %s',
    async (name, mutant) => {
      const { code, output } = await runProperty(mutant);
      const verdict = /The oracle's verdict: .*/.exec(output)?.[0];
      const after = /After \d+ histories/.exec(output)?.[0];
      process.stdout.write(`${name}: ${after ?? 'not found'}: ${verdict ?? output.slice(-2_000)}\n`);
      expect(verdict).toBeDefined();
      expect(code).toBe(1);
    },
    MUTANT_DEADLINE_MS,
  );
});
