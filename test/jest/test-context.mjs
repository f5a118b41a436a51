// Keeps track of the running test without AsyncLocalStorage. In Node.js 20, the first use of an AsyncLocalStorage makes
// every promise of the process slower from then on. A variable is enough, because the tests of a file run one after
// another.
import { createRequire } from 'node:module';

/** @type {{ AsyncLocalStorage: unknown }} */
const hooks = createRequire(import.meta.url)('node:async_hooks');

/** The part of AsyncLocalStorage that jest-circus uses. */
class SequentialContext {
  /** @type {unknown} */
  #store;

  getStore() {
    return this.#store;
  }

  /**
   * @template Result
   * @param {unknown} store
   * @param {() => Promise<Result>} callback
   */
  async run(store, callback) {
    const outer = this.#store;
    const running = testOf(outer);
    if (running !== undefined && running !== testOf(store))
      throw new Error('Tests of one file cannot run at the same time: see test/jest/test-context.mjs.');
    this.#store = store;
    try {
      return await callback();
    } finally {
      this.#store = outer;
    }
  }
}

/**
 * Returns the test to which a context belongs. Hooks of a test have a context of their own.
 * @param {unknown} store
 * @returns {unknown}
 */
function testOf(store) {
  return typeof store === 'object' && store !== null && 'test' in store ? store.test : undefined;
}

/**
 * Loads modules of jest-circus, which use this context instead of an AsyncLocalStorage.
 * @template Loaded
 * @param {() => Loaded} load loads the modules synchronously
 * @returns {Loaded}
 */
export function withSequentialContext(load) {
  const { AsyncLocalStorage } = hooks;
  hooks.AsyncLocalStorage = SequentialContext;
  try {
    return load();
  } finally {
    hooks.AsyncLocalStorage = AsyncLocalStorage;
  }
}
