import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const SOURCE = dirname(dirname(fileURLToPath(import.meta.url)));
const ROOT = dirname(dirname(dirname(SOURCE)));

/**
 * Builds the simulator into a temporary folder with the layout of the real build. `remove` deletes the
 * folder.
 */
export async function buildSimulator(): Promise<{
  main: string;
  folder: string;
  remove: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'simulator-build-'));
  await mkdir(join(folder, 'apps', 'simulator'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await symlink(join(ROOT, 'apps/simulator/public'), join(folder, 'apps/simulator/public'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const target = join(folder, 'dist/apps/simulator/src');
  for (const name of await readdir(SOURCE, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.spec.ts') || name.startsWith('testing')) continue;
    const { code } = await transformFile(join(SOURCE, name), { configFile: join(ROOT, '.swcrc') });
    const file = join(target, name.replace(/\.ts$/, '.js'));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, code);
  }
  return {
    main: join(target, 'main.js'),
    folder,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
