import { defineConfig } from 'eslint/config';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

const REDIS = ['ioredis', 'bullmq', '@nestjs/bullmq'];
const HTTP = ['axios', 'undici', 'form-data', 'fastify', '@fastify/*'];
const S3 = ['@aws-sdk/*', '@smithy/*'];
const NEST = ['@nestjs/*', 'rxjs'];
const PROMETHEUS = ['prom-client'];
const OPENTELEMETRY = ['@opentelemetry/*'];

const APPS = ['gateway', 'worker', 'simulator', 'launcher', 'cli', 'console'];
const FOUNDATIONS = ['events', 'upstream', 'accounts', 'blobs', 'conversations'];
const CAPABILITIES = ['relay', 'feed', 'webhooks'];

/**
 * The zones that close libs/ to a folder but for the libs it may import, and test/ altogether.
 * @param {string} target
 * @param {string[]} libs
 */
const mayImport = (target, libs) => [
  {
    target: `./${target}`,
    from: './libs',
    except: libs.map((lib) => `./${lib}`),
    message:
      'Dependencies point one way: apps -> relay, feed, webhooks -> events, upstream, accounts, blobs, conversations -> platform.',
  },
  { target: `./${target}`, from: './test', message: 'Only tests import from test/.' },
];

// apps -> {relay, feed, webhooks} -> {events, upstream, accounts, blobs, conversations} -> platform; libs of one rank never meet.
const DIRECTION = [
  ...CAPABILITIES.flatMap((lib) => mayImport(`libs/${lib}`, [lib, ...FOUNDATIONS, 'platform'])),
  // The other libs neither measure nor trace themselves: these two observe them.
  ...['metrics', 'tracing'].flatMap((lib) =>
    mayImport(`libs/${lib}`, [lib, ...CAPABILITIES, ...FOUNDATIONS, 'platform']),
  ),
  ...FOUNDATIONS.flatMap((lib) => mayImport(`libs/${lib}`, [lib, 'platform'])),
  ...mayImport('libs/platform', ['platform']),
  ...mayImport('libs/client', ['client']),
  ...mayImport('libs/embedded-redis', ['embedded-redis', 'platform']),
  ...mayImport('apps/simulator', []),
  {
    target: ['./apps/gateway', './apps/worker'],
    from: './libs/embedded-redis',
    message: 'Only the launcher and tests start a Redis.',
  },
  ...mayImport('apps/console', ['client']),
  { target: './libs', from: './apps', message: 'A lib never knows its apps.' },
  {
    target: './apps/gateway/src/!(docs|fixtures)/**/!(*.spec).ts',
    from: './apps/gateway/src/docs',
    message: 'The document is made of what the gateway answers, and nothing answers by the document.',
  },
  ...['./apps', './libs'].map((from) => ({
    target: ['./test/property/oracle.ts', './test/property/row-oracle.ts', './test/property/row-model.ts'],
    from,
    message: 'The oracle shares no code with what it judges.',
  })),
  ...['./apps', './libs', './test'].map((from) => ({
    target: ['./test/drop-in/generated-client.ts', './test/drop-in/as-a-client.ts'],
    from,
    except: from === './test' ? ['./drop-in', './support/eventually.ts'] : [],
    message: "A client of upstream's knows nothing of the product.",
  })),
  ...APPS.map((app) => ({
    target: `./apps/${app}`,
    from: './apps',
    except: [`./${app}`],
    message: 'Apps share code through libs.',
  })),
];

export default defineConfig(
  {
    ignores: [
      'dist/',
      'node_modules/',
      '.data/',
      'apps/*/public/',
      'libs/client/dist/',
      'libs/client/src/api-types.ts',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/resolver-next': [createTypeScriptImportResolver()],
    },
    rules: {
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-default-export': 'error',
      'import-x/no-restricted-paths': ['error', { zones: DIRECTION }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Nest's options are typed by classes that nobody makes instances of.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    files: ['test/property/oracle.ts', 'test/property/row-oracle.ts', 'test/property/row-model.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: ['#*'] }] },
  },
  // A file's name says which technology it may touch.
  {
    files: ['libs/*/src/**/*.ts'],
    ignores: [
      '**/redis-*.ts',
      '**/bullmq-*.ts',
      '**/http-*.ts',
      '**/s3-*.ts',
      '**/prom-*.ts',
      '**/otel-*.ts',
      '**/*.service.ts',
      '**/*.spec.ts',
    ],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [...REDIS, ...HTTP, ...S3, ...NEST, ...PROMETHEUS, ...OPENTELEMETRY] },
      ],
    },
  },
  {
    files: ['libs/**/otel-*.ts'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [...REDIS, ...HTTP, ...S3, ...NEST, ...PROMETHEUS] }],
    },
  },
  {
    files: ['libs/**/prom-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...REDIS, ...HTTP, ...S3, ...NEST] }] },
  },
  {
    files: ['libs/**/redis-*.ts', 'libs/**/bullmq-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...HTTP, ...S3, ...NEST] }] },
  },
  {
    files: ['libs/**/http-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...REDIS, ...S3, ...NEST] }] },
  },
  {
    files: ['libs/**/s3-*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...REDIS, ...HTTP, ...NEST] }] },
  },
  {
    files: ['libs/**/*.service.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [...REDIS, ...HTTP, ...S3],
          paths: [{ name: '@nestjs/common', allowImportNames: ['Injectable', 'Inject'] }],
        },
      ],
    },
  },
  {
    files: [
      '*.config.js',

      // What Jest loads by its path.
      'test/jest/*.mjs',
      '**/*.d.ts',
    ],
    rules: { 'import-x/no-default-export': 'off' },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
);
