// The mutant of this run: TIDINGS_MUTANT contains one mutant of mutants.ts as JSON.

export const given = process.env['TIDINGS_MUTANT'] ?? '';
/** @type {import('./mutants.js').Mutant} */
const mutant = JSON.parse(given);

/**
 * Returns the file's text after the mutant's replacements.
 * @param {string} text
 * @param {string} file
 * @throws {Error} if a text to replace does not occur exactly once
 */
export function mutated(text, file) {
  let result = text;
  for (const { file: where, from, to } of mutant.patches) {
    if (!file.endsWith(`/${where}`)) continue;
    const parts = result.split(from);
    if (parts.length !== 2)
      throw new Error(
        `the mutant "${mutant.name}" replaces a text that stands ${parts.length - 1} times in ${where}`,
      );
    result = parts.join(to);
  }
  return result;
}
