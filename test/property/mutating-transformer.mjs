// Jest transformer that applies a mutant to the sources. TIDINGS_MUTANT contains one mutant of mutants.ts as
// JSON.
import { createHash } from 'node:crypto';
import swc from '@swc/jest';

const given = process.env['TIDINGS_MUTANT'] ?? '';
/** @type {import('./mutants.js').Mutant} */
const mutant = JSON.parse(given);
const { process: transform, processAsync: transformAsync, getCacheKey: keyOf } = swc.createTransformer();
if (transform === undefined || transformAsync === undefined || keyOf === undefined)
  throw new Error('@swc/jest does not implement a required transformer function');

/**
 * Returns the text of a file with the mutant's patches applied.
 * @param {string} text
 * @param {string} file
 * @throws {Error} unless each replaced text occurs exactly once
 */
function mutated(text, file) {
  let result = text;
  for (const { file: where, from, to } of mutant.patches) {
    if (!file.endsWith(`/${where}`)) continue;
    const parts = result.split(from);
    if (parts.length !== 2)
      throw new Error(
        `the mutant "${mutant.name}" replaces a text that occurs ${parts.length - 1} times in ${where}`,
      );
    result = parts.join(to);
  }
  return result;
}

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
