import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import boundaries from 'eslint-plugin-boundaries';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

const REDIS = ['ioredis', 'bullmq', '@nestjs/bullmq'];
const HTTP = ['axios', 'undici', 'form-data', 'fastify', '@fastify/*'];
const NEST = ['@nestjs/*', 'rxjs'];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.data/', 'apps/*/public/'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { 'import-x': importX, boundaries },
    settings: {
      'import-x/resolver-next': [createTypeScriptImportResolver({ conditionNames: ['source', 'import', 'node'] })],
      'import/resolver': { typescript: { conditionNames: ['source', 'import', 'node'] } },
      'boundaries/elements': [
        { type: 'simulator', pattern: 'apps/simulator', mode: 'folder' },
        { type: 'app', pattern: 'apps/*', mode: 'folder', capture: ['app'] },
        { type: 'capability', pattern: 'libs/(relay|feed|webhooks)', mode: 'folder', capture: ['lib'] },
        { type: 'foundation', pattern: 'libs/(events|upstream|accounts)', mode: 'folder', capture: ['lib'] },
        { type: 'platform', pattern: 'libs/platform', mode: 'folder' },
        { type: 'test', pattern: 'test', mode: 'folder' },
      ],
    },
    rules: {
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-default-export': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // apps -> {relay, feed, webhooks} -> {events, upstream, accounts} -> platform; libs of one rank never meet.
      'boundaries/element-types': [
        'error',
        {
          default: 'disallow',
          rules: [
            { from: 'app', allow: ['capability', 'foundation', 'platform', ['app', { app: '${from.app}' }]] },
            { from: 'simulator', allow: ['simulator'] },
            { from: 'capability', allow: ['foundation', 'platform', ['capability', { lib: '${from.lib}' }]] },
            { from: 'foundation', allow: ['platform', ['foundation', { lib: '${from.lib}' }]] },
            { from: 'platform', allow: ['platform'] },
            { from: 'test', allow: ['*'] },
          ],
        },
      ],
    },
  },
  {
    // A file's name says which technology it may touch.
    files: ['libs/**/*.ts'],
    ignores: ['**/redis-*.ts', '**/bullmq-*.ts', '**/http-*.ts', '**/*.module.ts', '**/*.service.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...REDIS, ...HTTP, ...NEST] }] },
  },
  {
    files: ['libs/**/redis-*.ts', 'libs/**/bullmq-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...HTTP, ...NEST] }] },
  },
  {
    files: ['libs/**/http-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...REDIS, ...NEST] }] },
  },
  {
    files: ['libs/**/*.service.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [...REDIS, ...HTTP],
          paths: [{ name: '@nestjs/common', allowImportNames: ['Injectable', 'Inject'] }],
        },
      ],
    },
  },
  { files: ['*.config.js'], rules: { 'import-x/no-default-export': 'off' } },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
  },
);
