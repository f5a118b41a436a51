// Checks whether node_modules matches package-lock.json, and runs `npm ci` if not.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SetupFault } from './fault.mjs';
import { run } from './run.mjs';

const DEADLINE_MS = 15 * 60_000;

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string[], cpu?: string[], link?: boolean }} LockedPackage */
/** @typedef {{ packages?: Record<string, LockedPackage & { dependencies?: unknown, devDependencies?: unknown }> }} LockFile */

/**
 * Installs the npm packages if they are missing or outdated.
 * @param {string} root
 * @param {(line: string) => void} say
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function installPackages(root, say, env = process.env) {
  if (isInstalled(root)) return;
  say('Installing npm packages (npm ci) …');
  const script = env['npm_execpath'] ?? '';
  const [program, first] = basename(script) === 'npm-cli.js' ? [process.execPath, [script]] : ['npm', []];
  // The compiler is a development package and is needed even if NODE_ENV or npm's settings exclude such
  // packages.
  const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund'];
  // Standard output is for the results of commands, such as those of `npx tidings`.
  const options = { cwd: root, env, deadlineMs: DEADLINE_MS, toStderr: true };
  const { status, interrupted } = await run(program, args, options);
  if (interrupted) throw new SetupFault('Stopped.', 130);
  if (status !== 0)
    throw new SetupFault(
      'npm ci failed; see the output of npm above. Fix the problem and run the command again.',
      1,
    );
  writeFileSync(stampPath(root), stampOf(root));
}

/**
 * Returns true if node_modules matches the lock file. npm writes node_modules/.package-lock.json last: after
 * an interrupted installation that file is missing or outdated. The stamp records a state that `npm ci` created,
 * or that an earlier comparison found equal to the lock file.
 * @param {string} root
 */
export function isInstalled(root) {
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
 * Compares the installed packages, as npm recorded them, with the lock file.
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
 * Returns true if an optional package is made for this machine. npm may leave out optional packages for other
 * machines.
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
    // An incomplete file counts as missing.
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
