// Jest transformer that applies a mutant to the sources. TIDINGS_MUTANT contains one mutant of mutants.ts as
// JSON.
import { createHash } from 'node:crypto';
import swc from '@swc/jest';
import { given, mutated } from './mutated.mjs';

const { process: transform, processAsync: transformAsync, getCacheKey: keyOf } = swc.createTransformer();
if (transform === undefined || transformAsync === undefined || keyOf === undefined)
  throw new Error('@swc/jest does not implement a required transformer function');

/** @type {import('@jest/transform').AsyncTransformer} */
export default {
  canInstrument: false,
  process: (text, file, options) => transform(mutated(text, file), file, options),
  processAsync: (text, file, options) => transformAsync(mutated(text, file), file, options),
  getCacheKey: (text, file, options) =>
    createHash('sha1')
      .update(keyOf(text, file, options))
      .update(given)
      .digest('hex'),
};
