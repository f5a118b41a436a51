/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  // Minutes long: `npm run test:long` runs them.
  testPathIgnorePatterns: process.env.TIDINGS_LONG === '1' ? [] : ['<rootDir>/test/chaos/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  // Sources name each other by the extension of the build; here they are read before it.
  moduleNameMapper: { '^(\\.{1,2}/.*(?<!\\.json))\\.js$': '$1' },
  setupFiles: ['reflect-metadata'],
  testTimeout: 20_000,
  maxWorkers: 2,
};
