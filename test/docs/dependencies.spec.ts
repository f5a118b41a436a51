import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { ROOT } from './pages.js';

it('every package of the lock file supports the Node.js version that runs this test', async () => {
  const args = ['ci', '--dry-run', '--engine-strict', '--offline', '--ignore-scripts'];
  const { stderr } = await promisify(execFile)('npm', args, { cwd: ROOT, timeout: 60_000 });
  expect(stderr).not.toContain('EBADENGINE');
});
