// Runs before the first file: compiles what changed of the tests, and builds the product if a test starts its processes.
import { join } from 'node:path';
import { build, buildProduct } from '../../apps/launcher/build.mjs';
import { waitForLock } from '../../apps/launcher/src/lock.mjs';
import { compileTests } from './compile.mjs';
import { kindsOfSpecs } from './kinds.mjs';

const LOCK_DEADLINE_MS = 600_000;

/**
 * @param {import('@jest/types').Config.GlobalConfig} globalConfig
 */
export default async function buildAll({ testPathPatterns }) {
  const root = join(import.meta.dirname, '../..');
  const selected = testPathPatterns.toExecutor({ rootDir: root });
  const kind = process.env['TIDINGS_TESTS'];
  const startsProcesses = [...kindsOfSpecs(root)].some(
    ([spec, own]) =>
      own === 'e2e' && (kind === undefined || kind === own) && selected.isMatch(join(root, spec)),
  );
  const lock = await waitForLock(join(root, '.data/setup.lock'), {
    deadlineMs: LOCK_DEADLINE_MS,
    onWait: ({ pid }) => {
      console.log(`Waiting for process ${pid} to finish setting up this checkout …`);
    },
  });
  try {
    await (startsProcesses ? buildProduct(root) : build(root));
    await compileTests(root);
  } finally {
    lock.release();
  }
}
