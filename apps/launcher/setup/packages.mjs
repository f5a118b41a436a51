// The npm packages: whether node_modules is what package-lock.json asks for, and `npm ci` where it is not.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SetupFault } from './fault.mjs';
import { run } from './run.mjs';

const DEADLINE_MS = 15 * 60_000;

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string[], cpu?: string[], link?: boolean }} LockedPackage */
/** @typedef {{ packages?: Record<string, LockedPackage & { dependencies?: unknown, devDependencies?: unknown }> }} LockFile */

/**
 * Installs the packages unless they are there.
 * @param {string} root
 * @param {(line: string) => void} say
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function installPackages(root, say, env = process.env) {
  if (isInstalled(root)) return;
  say('Installing npm packages (npm ci) …');
  const script = env['npm_execpath'] ?? '';
  const [program, first] = basename(script) === 'npm-cli.js' ? [process.execPath, [script]] : ['npm', []];
  // The compiler is a development package: wanted whatever NODE_ENV or npm's settings say.
  const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund'];
  const { status, interrupted } = await run(program, args, { cwd: root, env, deadlineMs: DEADLINE_MS });
  if (interrupted) throw new SetupFault('Stopped.', 130);
  if (status !== 0)
    throw new SetupFault('npm ci failed; its words are above. Once that is mended, start again.', 1);
  writeFileSync(stampPath(root), stampOf(root));
}

/**
 * npm writes node_modules/.package-lock.json last, so an installation that was cut off lacks it or has the old one.
 * The stamp says that this very state was made by `npm ci`, or compared and found equal, before.
 * @param {string} root
 */
function isInstalled(root) {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const stamp = stampOf(root);
  if (existsSync(stampPath(root)) && readFileSync(stampPath(root), 'utf8') === stamp) return true;
  if (!isAsLocked(root)) return false;
  writeFileSync(stampPath(root), stamp);
  return true;
}

/** @param {string} root */
function stampPath(root) {
  return join(root, 'node_modules/.tidings-setup');
}

/** @param {string} root */
function stampOf(root) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json']) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/**
 * Compares what is installed, by npm's own record, with what is locked.
 * @param {string} root
 */
function isAsLocked(root) {
  const wanted = readLock(join(root, 'package-lock.json'));
  const installed = readLock(join(root, 'node_modules/.package-lock.json')).packages ?? {};
  /** @type {{ dependencies?: unknown, devDependencies?: unknown }} */
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { '': self = {}, ...packages } = wanted.packages ?? {};
  return (
    same(manifest.dependencies, self.dependencies) &&
    same(manifest.devDependencies, self.devDependencies) &&
    Object.entries(packages).every(([path, locked]) => {
      const found = installed[path];
      if (found === undefined) return locked.optional === true && !isForThisMachine(locked);
      return found.version === locked.version && found.integrity === locked.integrity;
    })
  );
}

/**
 * An optional package that names the machines it is for is installed there; others may have been left out.
 * @param {LockedPackage} locked
 */
function isForThisMachine({ os, cpu, ...rest }) {
  const libc = 'libc' in rest && Array.isArray(rest.libc) ? rest.libc : undefined;
  const ours = process.platform === 'linux' && isGlibc() ? 'glibc' : 'musl';
  return (
    os?.includes(process.platform) === true &&
    cpu?.includes(process.arch) === true &&
    (libc === undefined || libc.includes(ours))
  );
}

function isGlibc() {
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header?.glibcVersionRuntime !== undefined;
}

/**
 * @param {string} path
 * @returns {LockFile}
 */
function readLock(path) {
  try {
    return /** @type {LockFile} */ (JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // Half a file: as good as none.
    return {};
  }
}

/**
 * @param {unknown} a
 * @param {unknown} b
 */
function same(a, b) {
  const sorted = (/** @type {unknown} */ value) => JSON.stringify(Object.entries(value ?? {}).sort());
  return sorted(a) === sorted(b);
}
