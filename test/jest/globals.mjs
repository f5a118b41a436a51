// Replaces `@jest/globals` in compiled specs. Modules are loaded once per worker, but the functions that declare tests
// are new for each file: setTestFunctions() sets them.
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export { jestExpect as expect } from '@jest/expect';

/** @typedef {typeof import('@jest/globals')} Globals */

/** @type {Globals['describe']} */
export let describe;
/** @type {Globals['it']} */
export let it;
/** @type {Globals['test']} */
export let test;
/** @type {Globals['beforeAll']} */
export let beforeAll;
/** @type {Globals['beforeEach']} */
export let beforeEach;
/** @type {Globals['afterAll']} */
export let afterAll;
/** @type {Globals['afterEach']} */
export let afterEach;

/**
 * Sets the functions that declare tests. Modules that imported them earlier get the new ones too, because ES modules
 * import bindings, not values.
 * @param {Globals} globals
 */
export function setTestFunctions(globals) {
  ({ describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = globals);
}

const mocker = new ModuleMocker(globalThis);
/** @type {InstanceType<typeof ModernFakeTimers> | undefined} */
let timers;

/** @param {import('@jest/types').Config.ProjectConfig} config */
export function prepareTimers(config) {
  timers ??= new ModernFakeTimers({ config, global: globalThis });
}

/** Removes the mocks and fake timers of a file. */
export function restoreMocksAndTimers() {
  mocker.restoreAllMocks();
  timers?.useRealTimers();
}

/** The part of Jest's `jest` object that works with native modules. Modules cannot be mocked. */
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => {
    mocker.restoreAllMocks();
  },
  /** @param {import('@jest/types').Config.FakeTimersConfig} [options] */
  useFakeTimers: (options) => {
    timers?.useFakeTimers(options);
  },
  useRealTimers: () => {
    timers?.useRealTimers();
  },
  /** @param {number} ms */
  advanceTimersByTime: (ms) => {
    timers?.advanceTimersByTime(ms);
  },
  /** @param {number} ms */
  advanceTimersByTimeAsync: async (ms) => {
    await timers?.advanceTimersByTimeAsync(ms);
  },
};
