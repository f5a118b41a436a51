// Runs one spec with jest-circus, Jest's own runner, but on native modules: packages and sources are loaded once per
// worker instead of once per file. Restores afterwards what a file may have changed for the next one.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import 'reflect-metadata';
import { compiledPath } from './compile.mjs';
import { prepareTimers, restoreMocksAndTimers, setTestFunctions } from './globals.mjs';
import { withSequentialContext } from './test-context.mjs';

const require = createRequire(import.meta.url);
/** @type {{ default: (...args: unknown[]) => Promise<unknown> }} */
const circus = require('jest-circus/runner');
/** The property of `globalThis` in which jest-circus keeps the handlers of its events. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

/**
 * Runs a spec. Jest calls this function for each file.
 * @param {import('@jest/types').Config.GlobalConfig} globalConfig
 * @param {import('@jest/types').Config.ProjectConfig} config
 * @param {import('@jest/environment').JestEnvironment} environment
 * @param {import('jest-runtime').default} runtime
 * @param {string} testPath
 * @param {unknown} sendMessageToJest
 * @returns {Promise<unknown>} the results
 */
export default async function runFile(
  globalConfig,
  config,
  environment,
  runtime,
  testPath,
  sendMessageToJest,
) {
  const { env, exitCode } = { env: { ...process.env }, exitCode: process.exitCode };
  const console = globalThis.console;
  globalThis.console = environment.global.console;
  prepareTimers(config);
  try {
    const native = nativeRuntime(runtime, config.rootDir);
    return await circus.default(globalConfig, config, environment, native, testPath, sendMessageToJest);
  } finally {
    restoreMocksAndTimers();
    globalThis.console = console;
    process.exitCode = exitCode;
    for (const name of Object.keys(process.env))
      if (env[name] === undefined) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, env);
  }
}

/**
 * Returns Jest's runtime with native loading of modules.
 * @param {import('jest-runtime').default} runtime
 * @param {string} root the checkout
 */
function nativeRuntime(runtime, root) {
  /** @type {Record<string | symbol, unknown>} */
  const overrides = {
    // jest-circus keeps the tests of a file in its modules: each file gets new ones.
    requireInternalModule: (/** @type {string} */ path) => {
      Reflect.deleteProperty(require.cache, path);
      Reflect.deleteProperty(globalThis, EVENT_HANDLERS);
      return withSequentialContext(() => require(path));
    },
    requireModule: require,
    setGlobalsForRuntime: setTestFunctions,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: async (/** @type {string} */ path) =>
      await import(pathToFileURL(compiledPath(root, path)).href),
  };
  return new Proxy(runtime, {
    get: (target, key) => {
      if (Object.hasOwn(overrides, key)) return overrides[key];
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
