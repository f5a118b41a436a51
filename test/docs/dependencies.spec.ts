import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { ROOT } from './pages.js';

it('every package of the lock file supports the Node.js version that runs this test, in CI the oldest supported one', async () => {
  const args = ['ci', '--dry-run', '--engine-strict', '--offline', '--ignore-scripts'];
  const { stderr } = await promisify(execFile)('npm', args, { cwd: ROOT });
  expect(stderr).not.toContain('EBADENGINE');
});
