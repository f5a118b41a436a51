// The pre-commit hook: checks the format of the files of the commit, lints the code among them, and type-checks the
// projects that they belong to. `npm run lint`, which `.ci/run` runs, checks everything.
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LINTED = /\.(tsx?|js|mjs)$/;
/** The console is a project of its own, which contains the client library, too. */
const CONSOLE = /^(apps\/console|libs\/client)\//;

/** Returns the files that the commit adds or changes. */
function staged() {
  const args = ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z'];
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '');
}

/**
 * @param {string} package_
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<boolean>} true if the program found nothing wrong
 */
async function passes(package_, program, args) {
  const child = spawn(process.execPath, [join(root, 'node_modules', package_, program), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      resolve(code === 0);
    });
  });
}

/**
 * Options with which the compiler keeps the result of its last check, and checks only files that changed since then
 * or depend on these.
 * @param {string} name
 */
function keptIn(name) {
  return ['--incremental', '--tsBuildInfoFile', `.data/${name}.tsbuildinfo`];
}

const files = staged();
const code = files.filter((file) => LINTED.test(file));
const checks = [];
if (files.length > 0)
  checks.push(passes('prettier', 'bin/prettier.cjs', ['--check', '--ignore-unknown', ...files]));
if (code.length > 0) {
  checks.push(
    passes('typescript', 'bin/tsc', ['--noEmit', ...keptIn('pre-commit')]),
    passes('eslint', 'bin/eslint.js', [
      '--no-warn-ignored',
      '--rule',
      '{"import-x/no-cycle":"off"}',
      ...code,
    ]),
  );
}
if (code.some((file) => CONSOLE.test(file)))
  checks.push(
    passes('typescript', 'bin/tsc', ['--noEmit', '-p', 'apps/console', ...keptIn('pre-commit-console')]),
  );
if (!(await Promise.all(checks)).every(Boolean)) process.exitCode = 1;
