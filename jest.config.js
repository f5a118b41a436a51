import { readFileSync } from 'node:fs';

/** @type {{ compilerOptions: { paths: Record<string, [string]> } }} */
const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.json', import.meta.url), 'utf8'));
// The libs by the names that tsconfig.json declares.
const LIBS = Object.entries(compilerOptions.paths).map(([name, [file]]) => [
  `^${name.replace('*', '([\\w-]+)')}$`,
  file.replace('./', '<rootDir>/').replace('*', '$1'),
]);

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  // Minutes long: `npm run test:long` runs them.
  testPathIgnorePatterns:
    process.env.TIDINGS_LONG === '1'
      ? []
      : ['<rootDir>/test/chaos/', '<rootDir>/test/property/mutants.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  // The property of the feed is tested itself: on a product with a fault put into it.
  transform: {
    '^.+\\.ts$':
      process.env.TIDINGS_MUTANT === undefined
        ? '@swc/jest'
        : '<rootDir>/test/property/mutating-transformer.mjs',
  },
  // Sources name each other by the extension of the build; here they are read before it.
  moduleNameMapper: {
    '^(\\.{1,2}/.*(?<!\\.json))\\.js$': '$1',
    ...Object.fromEntries(LIBS),
    ...(process.env.TIDINGS_MUTANT === undefined
      ? {}
      : { '/lua-text\\.mjs$': '<rootDir>/test/property/mutating-lua-text.mjs' }),
  },
  setupFiles: ['reflect-metadata'],
  // For what hangs. What must be prompt is asserted where it is tested: a slow machine is no fault.
  testTimeout: 120_000,
  maxWorkers: 2,
};
