import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { MUTANTS } from './mutants.js';
import { PROMISE_MUTANTS } from './promise-mutants.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

// Only the long tests run the mutants, so a change of the product that makes a patch useless must be noticed here.
it.each([...MUTANTS, ...PROMISE_MUTANTS].map(({ name, patches }) => [name, patches] as const))(
  'each text that the mutant replaces still occurs exactly once in the source: %s',
  (_, patches) => {
    for (const { file, from } of patches) {
      expect(readFileSync(`${root}/${file}`, 'utf8').split(from)).toHaveLength(2);
    }
  },
);
