// The deliberate fault of this run, if any: TIDINGS_MUTANT contains one mutant of test/property as JSON.

const given = process.env['TIDINGS_MUTANT'];

/** @type {import('../property/mutants.js').Mutant | undefined} */
export const MUTANT = given === undefined ? undefined : JSON.parse(given);

/**
 * Returns the text of a source with the mutant put in.
 * @param {string} text
 * @param {string} file the source, relative to the checkout
 * @throws {Error} unless each text that is replaced occurs exactly once in the file
 */
export function mutated(text, file) {
  let result = text;
  for (const { file: where, from, to } of MUTANT?.patches ?? []) {
    if (file !== where) continue;
    const parts = result.split(from);
    if (parts.length !== 2)
      throw new Error(
        `the mutant "${MUTANT?.name}" replaces a text that stands ${parts.length - 1} times in ${where}`,
      );
    result = parts.join(to);
  }
  return result;
}
