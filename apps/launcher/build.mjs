// Compiles changed sources, and copies .mjs and .lua files. By default, builds every project in nest-cli.json into
// dist/; another `Target` may name other folders. Does not check types; tsc does.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { bundlePrograms } from './bundle.mjs';
import { bundleConsole } from './bundle-console.mjs';
import { waitForLock } from './src/lock.mjs';
import { writeAtomically } from './write-atomically.mjs';

/**
 * Version of the output format. Raise it when the output changes for a reason other than the settings: the
 * next build then compiles everything again.
 */
const BUILD_FORMAT = 1;

/**
 * Record of the last build: the digest of the compiler with its settings, and the digest of each source.
 * @typedef {{ compiler: string, sources: Record<string, string> }} Stamp
 */

/**
 * Sources that do not compile. The message has one or more lines per file, which start with the file name.
 */
export class BuildError extends Error {}

/**
 * What a build reads and writes.
 * @typedef {object} Target
 * @property {string} into folder of the output, relative to the checkout
 * @property {string[]} folders folders of the sources
 * @property {(file: string) => boolean} includes whether a file of these folders is a source
 * @property {string} [version] version of the two functions below; if it changes, everything is compiled again
 * @property {(text: string, file: string) => string} [before] changes the text of a source before it is compiled
 * @property {(code: string, file: string) => string} [after] changes compiled code
 */

/**
 * Returns the target of the product.
 * @param {string} root the checkout
 * @param {string[]} [extra] folders to build in addition to those of nest-cli.json
 * @returns {Target}
 */
export function productTarget(root, extra = []) {
  return {
    into: 'dist',
    folders: [...projectsOf(root), ...extra],
    includes: (file) => !file.endsWith('.spec.ts') && !file.includes('/fixtures/'),
  };
}

/**
 * Compiles the product, and bundles its programs and the console.
 * @param {string} root the checkout
 * @param {string[]} [extra] folders to compile in addition to those of nest-cli.json
 * @returns {Promise<{ sources: number, compiled: number, removed: number, bundled: boolean }>}
 * @throws {BuildError}
 */
export async function buildProduct(root, extra) {
  const compiled = await build(root, productTarget(root, extra));
  const [programs, console] = [await bundlePrograms(root), await bundleConsole(root)];
  return { ...compiled, bundled: programs || console };
}

/**
 * Brings the output of a target up to date with its sources.
 * @param {string} root the checkout
 * @param {Target} [target]
 * @returns {Promise<{ sources: number, compiled: number, removed: number }>}
 * @throws {BuildError}
 */
export async function build(root, target = productTarget(root)) {
  const compiler = digest(
    String(BUILD_FORMAT),
    target.version ?? '',
    readFileSync(join(root, '.swcrc')),
    readFileSync(join(root, 'node_modules/@swc/core/package.json')),
  );
  const last = readStamp(root, target);
  const sources = new Map(
    sourcesOf(root, target).map((file) => [file, digest(readFileSync(join(root, file)))]),
  );
  const stale = [...sources].filter(
    ([file, hash]) =>
      last.compiler !== compiler ||
      last.sources[file] !== hash ||
      outputsOf(file, target).some((out) => !existsSync(join(root, out))),
  );
  const removed = await removeOrphans(root, target, [...sources.keys()], Object.keys(last.sources));
  if (stale.length === 0 && removed === 0) return { sources: sources.size, compiled: 0, removed };

  const files = stale.map(([file]) => file);
  // Without this record, the next build after an interruption would skip a source that was changed back meanwhile,
  // although its output may come from the changed source.
  await writeStamp(root, target, compiler, sources, files);
  const failures = await compile(root, target, files);
  await writeStamp(root, target, compiler, sources, [...failures.keys()]);
  if (failures.size > 0) throw new BuildError([...failures.values()].sort().join('\n'));
  return { sources: sources.size, compiled: stale.length, removed };
}

/**
 * Compiles files with swc.
 * @param {string} root
 * @param {Target} target
 * @param {string[]} files
 * @returns {Promise<Map<string, string>>} the files that failed, each with its error message
 */
async function compile(root, target, files) {
  /** @type {Map<string, string>} */
  const failures = new Map();
  if (files.length === 0) return failures;
  const { transform } = await import('@swc/core');
  const { before = unchanged, after = unchanged } = target;
  await Promise.all(
    files.map(async (file) => {
      const [out = '', map = ''] = outputsOf(file, target);
      const text = before(await readFile(join(root, file), 'utf8'), file);
      if (!file.endsWith('.ts')) {
        await writeAtomically(join(root, out), after(text, file));
        return;
      }
      try {
        const result = await transform(text, {
          filename: join(root, file),
          cwd: root,
          configFile: join(root, '.swcrc'),
          swcrc: false,
          sourceMaps: true,
          sourceFileName: relative(dirname(out), file),
        });
        await writeAtomically(join(root, map), result.map ?? '');
        const code = after(result.code, file);
        await writeAtomically(join(root, out), `${code}\n//# sourceMappingURL=${basename(map)}\n`);
      } catch (error) {
        failures.set(file, `${file}: ${messageOf(error)}`);
      }
    }),
  );
  return failures;
}

/** @param {string} text */
function unchanged(text) {
  return text;
}

/**
 * Returns the compiler's error message without its chain of causes.
 * @param {unknown} error
 */
function messageOf(error) {
  const text = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  return (String(text).split(/\n\s*Caused by:/)[0] ?? '').replace(/^Error:\s*/, '').trim();
}

/**
 * Removes the output of sources that no longer exist.
 * @param {string} root
 * @param {Target} target
 * @param {string[]} sources
 * @param {string[]} before the sources of the last build
 */
async function removeOrphans(root, target, sources, before) {
  const wanted = new Set(sources.flatMap((file) => outputsOf(file, target)));
  const earlier = before.flatMap((file) => outputsOf(file, target));
  const found = target.folders.flatMap((folder) => filesUnder(root, join(target.into, folder)));
  const orphans = [...new Set([...earlier, ...found])].filter(
    (out) => !wanted.has(out) && existsSync(join(root, out)),
  );
  for (const out of orphans) {
    await rm(join(root, out));
    removeEmptyFolders(join(root, dirname(out)), join(root, target.into));
  }
  return orphans.length;
}

/**
 * Removes empty folders from `folder` upwards, up to but not including `end`.
 * @param {string} folder
 * @param {string} end
 */
function removeEmptyFolders(folder, end) {
  for (let at = folder; at !== end && existsSync(at) && readdirSync(at).length === 0; at = dirname(at))
    rmdirSync(at);
}

/**
 * Returns the files to build, relative to the checkout.
 * @param {string} root
 * @param {Target} target
 */
function sourcesOf(root, { folders, includes }) {
  return folders
    .flatMap((folder) => filesUnder(root, folder))
    .filter((file) => /\.(ts|mjs|lua)$/.test(file) && !file.endsWith('.d.ts') && includes(file));
}

/**
 * Returns the source folder of each project.
 * @param {string} root
 */
function projectsOf(root) {
  /** @type {{ projects: Record<string, { sourceRoot: string }> }} */
  const settings = JSON.parse(readFileSync(join(root, 'nest-cli.json'), 'utf8'));
  return Object.values(settings.projects).map((project) => project.sourceRoot);
}

/**
 * Returns all files in a folder and its subfolders, relative to the checkout.
 * @param {string} root
 * @param {string} folder may be missing
 */
function filesUnder(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/**
 * Returns the output files of a source.
 * @param {string} source
 * @param {Target} target
 */
function outputsOf(source, { into }) {
  const out = join(into, source.replace(/\.ts$/, '.js'));
  return source.endsWith('.ts') ? [out, `${out}.map`] : [out];
}

/**
 * @param {string} root
 * @param {Target} target
 */
function stampPath(root, { into }) {
  return join(root, into, '.build.json');
}

/**
 * Reads the record of the last build.
 * @param {string} root
 * @param {Target} target
 * @returns {Stamp}
 */
function readStamp(root, target) {
  try {
    return /** @type {Stamp} */ (JSON.parse(readFileSync(stampPath(root, target), 'utf8')));
  } catch {
    // There is no build yet, or the record is unreadable: build everything.
    return { compiler: '', sources: {} };
  }
}

/**
 * Writes the record of a build.
 * @param {string} root
 * @param {Target} target
 * @param {string} compiler
 * @param {Map<string, string>} sources the digest of each source
 * @param {string[]} missing sources without an up-to-date output
 */
async function writeStamp(root, target, compiler, sources, missing) {
  const built = [...sources].filter(([file]) => !missing.includes(file));
  await writeAtomically(
    stampPath(root, target),
    JSON.stringify({ compiler, sources: Object.fromEntries(built) }),
  );
}

/** @param {(string | Buffer)[]} parts */
function digest(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

async function main() {
  const root = resolve(import.meta.dirname, '../..');
  const startedAt = performance.now();
  const lock = await waitForLock(join(root, '.data/setup.lock'), {
    deadlineMs: 600_000,
    onWait: (holder) => {
      console.log(`Waiting for process ${holder.pid} to finish setting up this checkout …`);
    },
  });
  try {
    const { sources, compiled, removed, bundled } = await buildProduct(root);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(
      `Built dist/: ${compiled} of ${sources} files compiled, ${removed} removed, ${bundled ? 'programs bundled, ' : ''}in ${seconds} s.`,
    );
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  } finally {
    lock.release();
  }
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) await main();
