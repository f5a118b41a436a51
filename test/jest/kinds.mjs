// Finds out what each spec needs from what it imports, so that no list is kept by hand.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/**
 * What a spec needs: nothing (`unit`), a Redis server (`redis`) or processes of the product (`e2e`).
 * @typedef {'unit' | 'redis' | 'e2e'} Kind
 */

/** Modules that start processes other than Redis. */
const STARTS_PROCESSES =
  /^(test\/support\/(process|browser)|apps\/[^/]+\/src\/(fixtures|testing)\/checkout)\.ts$/;
/** Modules that start a Redis server. */
const STARTS_REDIS = /^test\/support\/redis-(server|process)\.ts$|\/embedded-redis\.ts$/;
const IMPORT = /\bfrom '(\.{1,2}\/[^']+)\.js'/g;

/**
 * Returns the kind of each spec by its path, relative to the checkout.
 * @param {string} root the checkout
 * @returns {Map<string, Kind>}
 */
export function kindsOfSpecs(root) {
  /** @type {Map<string, readonly string[]>} */
  const known = new Map();
  const specs = ['apps', 'libs', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.spec.ts'))
      .map((file) => join(folder, file)),
  );
  return new Map(specs.map((spec) => [spec, kindOf(root, spec, known)]));
}

/**
 * @param {string} root
 * @param {string} spec
 * @param {Map<string, readonly string[]>} known
 * @returns {Kind}
 */
function kindOf(root, spec, known) {
  const found = new Set([spec]);
  for (const file of found) for (const next of importsOf(root, file, known)) found.add(next);
  const startsItself = readFileSync(join(root, spec), 'utf8').includes(" from 'node:child_process'");
  if (startsItself || [...found].some((file) => STARTS_PROCESSES.test(file))) return 'e2e';
  return [...found].some((file) => STARTS_REDIS.test(file)) ? 'redis' : 'unit';
}

/**
 * Returns the files that a file imports by a relative path. Imports of libs start nothing by themselves.
 * @param {string} root
 * @param {string} file
 * @param {Map<string, readonly string[]>} known
 */
function importsOf(root, file, known) {
  const before = known.get(file);
  if (before !== undefined) return before;
  let text = '';
  try {
    text = readFileSync(join(root, file), 'utf8');
  } catch {
    // A module in JavaScript: these start nothing.
  }
  const imports = [...text.matchAll(IMPORT)].map(([, path = '']) =>
    relative(root, resolve(root, dirname(file), `${path}.ts`)),
  );
  known.set(file, imports);
  return imports;
}
