// Bundles each program with its packages into one file, so that a process starts by reading one module instead of 2,500:
// see docs/decisions/0058-bundles.md.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { writeAtomically } from './write-atomically.mjs';

/** The compiled main module of each program, in `dist/apps`. */
const PROGRAMS = {
  gateway: 'gateway/src/main.js',
  worker: 'worker/src/main.js',
  simulator: 'simulator/src/main.js',
  cli: 'cli/src/main.js',
  'rotate-secrets': 'gateway/src/rotate-secrets.js',
};

/**
 * Packages that are not bundled: optional packages that are not installed, packages that read files beside their
 * code, native ones, and a large one that only some installations load.
 */
const EXTERNAL = [
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  '@fastify/view',
  'class-transformer/storage',
  'swagger-ui-dist',
  '@bull-board/*',
  'msgpackr-extract',
  '@aws-sdk/*',
];

/** Names of the files that the programs import on demand, and of their source maps. */
const CHUNK = new RegExp(`^(${Object.keys(PROGRAMS).join('|')})-[A-Z0-9]{8}\\.js(\\.map)?$`);

/** Declarations that CommonJS packages expect in their module. */
const BANNER = [
  "import { createRequire as createTidingsRequire } from 'node:module';",
  'const require = createTidingsRequire(import.meta.url);',
  'const __dirname = import.meta.dirname;',
  'const __filename = import.meta.filename;',
].join('\n');

/**
 * Record of the last bundling: the digest of what it read, and the names of the files that it wrote.
 * @typedef {{ inputs: string, files: string[] }} Stamp
 */

/**
 * Brings the bundles of the programs up to date: `dist/gateway.js` and the others, each with the files that it imports
 * on demand.
 * @param {string} root the checkout, whose sources are compiled
 * @returns {Promise<boolean>} false if the bundles were up to date
 * @throws {Error} naming each import that cannot be resolved
 */
export async function bundlePrograms(root) {
  const dist = join(root, 'dist');
  const stamp = join(dist, '.bundles');
  const inputs = digestOf([
    join(root, 'dist/.build.json'),
    join(root, 'node_modules/.package-lock.json'),
    import.meta.filename,
  ]);
  const last = readStamp(stamp);
  if (last.inputs === inputs && last.files.every((file) => existsSync(join(dist, file)))) return false;
  const { build } = await import('esbuild');
  // An interrupted bundling must not look like a finished one.
  await writeAtomically(stamp, JSON.stringify({ ...last, inputs: '' }));
  const built = await Promise.all(
    Object.entries(PROGRAMS).map(([program, main]) =>
      build({
        absWorkingDir: root,
        entryPoints: { [program]: join('dist/apps', main) },
        outdir: 'dist',
        metafile: true,
        bundle: true,
        // Code that is imported on demand gets a file of its own, with the packages that only this code imports.
        splitting: true,
        chunkNames: `${program}-[hash]`,
        // A smaller file starts faster, because Node.js reads, decodes and scans the whole file at each start. Names
        // are kept for stack traces.
        minifyWhitespace: true,
        minifySyntax: true,
        platform: 'node',
        format: 'esm',
        target: 'node20.19',
        // Nest and BullMQ use the names of classes.
        keepNames: true,
        write: false,
        sourcemap: 'linked',
        sourcesContent: false,
        legalComments: 'none',
        external: EXTERNAL,
        // Empty, so that esbuild uses the compiled libs and not the sources that tsconfig.json names.
        tsconfigRaw: {},
        banner: { js: BANNER },
        plugins: [inPlace(dist)],
        logLevel: 'silent',
      }),
    ),
  );
  const files = built.flatMap(({ metafile }) => Object.keys(metafile.outputs)).map((file) => basename(file));
  for (const { outputFiles } of built) {
    const texts = withCheapNames(outputFiles.map(({ text }) => text));
    const write = (/** @type {boolean} */ isChunk) =>
      Promise.all(
        outputFiles.map(async ({ path }, n) => {
          if (CHUNK.test(basename(path)) === isChunk) await writeAtomically(path, texts[n] ?? '');
        }),
      );
    // The imported files are written first, because a process may start before all files are written.
    await write(true);
    await write(false);
  }
  // A process that started before this bundling may still import chunks of the previous bundling.
  await removeChunksExcept([...files, ...last.files], dist);
  await writeAtomically(stamp, JSON.stringify({ inputs, files }));
  return true;
}

/**
 * Reads the record of the last bundling.
 * @param {string} path
 * @returns {Stamp}
 */
function readStamp(path) {
  try {
    return /** @type {Stamp} */ (JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // There was no bundling yet, or the record is damaged.
    return { inputs: '', files: [] };
  }
}

const HELPER = '__name=(target,value)=>__defProp(target,"name",{value,configurable:!0})';
const CHEAP_HELPER =
  '__name=(target,value)=>target.name===value||target.name===""?target:__defProp(target,"name",{value,configurable:!0})';

/**
 * Changes the bundle's helper `__name`, so that it skips functions without a name and functions that already have the
 * right name. A request creates dozens of functions without a name.
 * @param {string[]} texts the files of one program, of which at most one contains the helper
 * @throws {Error} if esbuild writes the helper in another way
 */
function withCheapNames(texts) {
  if (texts.some((text) => text.includes('__name=(')) && !texts.some((text) => text.includes(HELPER)))
    throw new Error(
      'The bundles contain the function `__name` in another form than bundle.mjs expects. Set the constant HELPER in bundle.mjs to the form that esbuild writes now.',
    );
  return texts.map((text) => text.replace(HELPER, CHEAP_HELPER));
}

/**
 * Removes the files of earlier bundlings that have a hash in their name.
 * @param {string[]} kept names of files that stay
 * @param {string} dist
 */
async function removeChunksExcept(kept, dist) {
  const files = (await readdir(dist)).filter((file) => CHUNK.test(file) && !kept.includes(file));
  await Promise.all(files.map((file) => rm(join(dist, file), { force: true })));
}

/** @param {string[]} files */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(existsSync(file) ? readFileSync(file) : 'missing').update('\0');
  return hash.digest('hex');
}

/**
 * Lets the product's modules find the files next to their sources (Lua scripts, package.json), although the modules
 * run in a bundle.
 * @param {string} dist
 * @returns {import('esbuild').Plugin}
 */
function inPlace(dist) {
  return {
    name: 'in-place',
    setup: ({ onLoad }) => {
      onLoad({ filter: /[/\\]dist[/\\](apps|libs)[/\\].*\.m?js$/ }, async ({ path }) => {
        const relativePath = JSON.stringify(`./${relative(dist, path)}`);
        const contents = (await readFile(path, 'utf8'))
          .replaceAll('import.meta.url', `new URL(${relativePath}, import.meta.url).href`)
          .replaceAll(
            'import.meta.dirname',
            `(import.meta.dirname + ${JSON.stringify(`/${dirname(relative(dist, path))}`)})`,
          );
        return { contents, loader: 'js' };
      });
    },
  };
}
