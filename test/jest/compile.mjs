// Compiles sources and specs to where Jest's workers load them from: one graph of native modules per worker, instead
// of one graph per file inside Jest's own module system.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from '../../apps/launcher/build.mjs';
import { MUTANT, mutated } from './mutant.mjs';

/** Replaces `@jest/globals`, which can only be imported inside Jest's own module system. */
const GLOBALS = pathToFileURL(join(import.meta.dirname, 'globals.mjs')).href;
/** Folder of the compiled files. Each mutant has its own, so that it never mixes with the product. */
const INTO = join(
  '.data/tests',
  MUTANT === undefined ? 'product' : `mutant-${digest(JSON.stringify(MUTANT))}`,
);

/**
 * Returns the compiled file of a source.
 * @param {string} root the checkout
 * @param {string} source a source in it
 */
export function compiledPath(root, source) {
  return join(root, INTO, relative(root, source).replace(/\.ts$/, '.js'));
}

/**
 * Brings the compiled files up to date with the sources.
 * @param {string} root the checkout
 * @throws {Error} naming each source that cannot be compiled
 */
export async function compileTests(root) {
  await writeManifest(root);
  await build(root, {
    into: INTO,
    folders: ['apps', 'libs', 'test'],
    // These load the compiled files, and must exist once per worker.
    includes: (file) => !file.startsWith('test/jest/'),
    version: digest(root, readFileSync(import.meta.filename, 'utf8')),
    before: mutated,
    after: (code, file) => withGlobals(file.startsWith('libs/') ? code : inPlace(code, join(root, file))),
  });
}

/**
 * Writes the manifest of the compiled files: names of libs mean the compiled libs.
 * @param {string} root
 */
async function writeManifest(root) {
  const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const path = join(root, INTO, 'package.json');
  const text = JSON.stringify({ name, version, type, imports: { '#*': './libs/*/src/index.js' } });
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** @param {string} code */
function withGlobals(code) {
  return code.replace(/(\sfrom\s*)(['"])@jest\/globals\2/g, (_, from) => from + JSON.stringify(GLOBALS));
}

/**
 * Makes code find the files that are beside its source. Libs do not need this: Lua files are copied.
 * @param {string} code
 * @param {string} source
 */
function inPlace(code, source) {
  return code
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(source)))
    .replaceAll('import.meta.filename', JSON.stringify(source))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(source).href));
}

/** @param {string[]} parts */
function digest(...parts) {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}
