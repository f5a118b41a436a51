import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as sequencers from '@jest/test-sequencer';
import { kindsOfSpecs } from './kinds.mjs';

// The types describe the CommonJS module, but Node.js loads the ES module.
const Sequencer = /** @type {typeof import('@jest/test-sequencer').default} */ (
  /** @type {unknown} */ (sequencers.default)
);

/** Assumed durations of files that were never run here, in milliseconds. Only their order matters. */
const GUESS_MS = { e2e: 7_000, property: 30_000, redis: 4_000, unit: 500 };

/**
 * Seconds that the longest files took in one run, for a checkout in which none was run yet. Only the order matters.
 * @type {Record<string, number | undefined>}
 */
const SECONDS = JSON.parse(readFileSync(join(import.meta.dirname, 'durations.json'), 'utf8'));

/** Starts the longest files first, so that no long file runs alone at the end. Jest does so for known durations only. */
export default class LongestFirst extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  sort(tests) {
    const kinds = kindsOfSpecs(tests[0]?.context.config.rootDir ?? '.');
    const timed = tests.map((test) => {
      const path = relative(test.context.config.rootDir, test.path);
      const [, known] = this.timesOf(test)[test.path] ?? [];
      const kind = path.startsWith('test/property/') ? 'property' : (kinds.get(path) ?? 'unit');
      const seconds = SECONDS[path];
      return { test, ms: known ?? (seconds === undefined ? GUESS_MS[kind] : seconds * 1_000) };
    });
    return timed.sort((a, b) => b.ms - a.ms).map(({ test }) => test);
  }

  /**
   * Returns the durations that Jest stored in earlier runs, by file.
   * @param {import('@jest/test-result').Test} test
   * @returns {Record<string, [number, number] | undefined>}
   */
  timesOf(test) {
    return this._getCache(test);
  }
}
