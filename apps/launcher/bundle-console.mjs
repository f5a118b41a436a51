// Bundles the web console for browsers into dist/console: index.html, and files whose names contain a hash of their
// content, each with a copy compressed by Brotli.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

/** Path at which the gateway serves the files. */
const PUBLIC_PATH = '/console/assets/';
/** Mark in index.html that is replaced by the elements that load the files. */
const HEAD = '<!-- build:head -->';

/**
 * Brings the bundle of the console up to date.
 * @param {string} root the checkout
 * @returns {Promise<boolean>} false if the bundle was up to date
 * @throws {Error} naming each import that cannot be resolved
 */
export async function bundleConsole(root) {
  const from = join(root, 'apps/console');
  const into = join(root, 'dist/console');
  const stamp = join(root, 'dist/.console');
  const inputs = digestOf([
    ...filesUnder(from),
    ...filesUnder(join(root, 'libs/client/src')),
    join(root, 'node_modules/.package-lock.json'),
    import.meta.filename,
  ]);
  if (existsSync(stamp) && existsSync(into) && readFileSync(stamp, 'utf8') === inputs) return false;
  const { build } = await import('esbuild');
  await rm(stamp, { force: true });
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { console: join(from, 'src/main.tsx') },
    outdir: 'dist/console/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: PUBLIC_PATH,
    alias: {
      '#client': join(root, 'libs/client/src/index.ts'),
      react: 'preact/compat',
      'react-dom': 'preact/compat',
    },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: { compilerOptions: { target: 'ES2023', useDefineForClassFields: true } },
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  // The files are written to another folder, which is then renamed. So a running gateway serves the old files or the
  // new ones. Only between the two renames, it finds none.
  const draft = `${into}.${process.pid}.tmp`;
  const former = `${into}.${process.pid}.old`;
  // A crash may have left these folders, and a later build may have the same process id, for example in a container.
  for (const left of [draft, former]) await rm(left, { recursive: true, force: true });
  await mkdir(join(draft, 'assets'), { recursive: true });
  for (const { path, contents } of outputFiles)
    await writeWithCompressed(join(draft, 'assets', basename(path)), contents);
  for (const file of filesUnder(join(from, 'public')))
    await writeWithCompressed(join(draft, 'assets', basename(file)), await readFile(file));
  const page = (await readFile(join(from, 'index.html'), 'utf8')).replace(HEAD, headOf(metafile));
  await writeWithCompressed(join(draft, 'index.html'), Buffer.from(page));
  if (existsSync(into)) await rename(into, former);
  await rename(draft, into);
  await rm(former, { recursive: true, force: true });
  await writeFile(stamp, inputs);
  return true;
}

/**
 * Returns the elements of index.html that load the console: its style sheet, its script, and what the script imports
 * at once, so that the browser requests all of them together.
 * @param {import('esbuild').Metafile} metafile
 */
function headOf({ outputs }) {
  const entry = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('src/main.tsx'));
  if (entry === undefined) throw new Error('The bundle of the console has no entry point src/main.tsx.');
  const [script, { cssBundle, imports }] = entry;
  const preloads = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  return [
    ...(cssBundle === undefined
      ? []
      : [`<link rel="stylesheet" href="${PUBLIC_PATH}${basename(cssBundle)}" />`]),
    ...preloads.map((path) => `<link rel="modulepreload" href="${PUBLIC_PATH}${basename(path)}" />`),
    `<script type="module" src="${PUBLIC_PATH}${basename(script)}"></script>`,
  ].join('\n    ');
}

/**
 * @param {string} path
 * @param {Uint8Array} contents
 */
async function writeWithCompressed(path, contents) {
  await mkdir(dirname(path), { recursive: true });
  const compressed = await promisify(brotliCompress)(contents, {
    params: { [constants.BROTLI_PARAM_SIZE_HINT]: contents.length },
  });
  await Promise.all([writeFile(path, contents), writeFile(`${path}.br`, compressed)]);
}

/** @param {string} folder */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** @param {string[]} files */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
