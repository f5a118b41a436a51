// Runs before the first file: compiles what changed of the product and of the tests.
import { join } from 'node:path';
import { build } from '../../apps/launcher/build.mjs';
import { waitForLock } from '../../apps/launcher/src/lock.mjs';
import { compileTests } from './compile.mjs';

const LOCK_DEADLINE_MS = 600_000;

export default async function buildAll() {
  const root = join(import.meta.dirname, '../..');
  const lock = await waitForLock(join(root, '.data/setup.lock'), {
    deadlineMs: LOCK_DEADLINE_MS,
    onWait: ({ pid }) => {
      console.log(`Waiting for process ${pid} to finish setting up this checkout …`);
    },
  });
  try {
    await build(root);
    await compileTests(root);
  } finally {
    lock.release();
  }
}
