import { availableParallelism } from 'node:os';
import { kindsOfSpecs } from './test/jest/kinds.mjs';

/** The kind of tests to run: set by `npm run test:unit`, `test:redis` and `test:e2e`. Unset means all. */
const kind = process.env.TIDINGS_TESTS;
const specs = [...kindsOfSpecs(import.meta.dirname)].filter(([, own]) => own === kind);

/**
 * Sources and specs run as native modules, which are compiled before the first file: see test/jest.
 * @type {import('jest').Config}
 */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: kind === undefined ? ['**/*.spec.ts'] : specs.map(([file]) => `<rootDir>/${file}`),
  // Minutes long: `npm run test:long` runs them.
  testPathIgnorePatterns:
    process.env.TIDINGS_LONG === '1'
      ? []
      : ['<rootDir>/test/(chaos|timing)/', '<rootDir>/test/property/(promise-)?mutants.spec.ts'],
  globalSetup: '<rootDir>/test/jest/build.mjs',
  testRunner: '<rootDir>/test/jest/runner.mjs',
  testSequencer: '<rootDir>/test/jest/sequencer.mjs',
  reporters: ['default', '<rootDir>/test/jest/slowest.mjs'],
  // Ends a test that hangs. Tests of promptness assert their own limits, because a slow machine is no fault.
  testTimeout: 600_000,
  // Many tests wait for a process or a timer, so that more workers than processors keep the processors busy.
  maxWorkers: Math.min(3 * availableParallelism(), 8),
};
