import { execFile } from 'node:child_process';
import { open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Checkout } from './src/fixtures/checkout.js';

let checkout: Checkout;

beforeEach(async () => {
  checkout = await Checkout.make();
});
afterEach(() => checkout.dispose());

/** Builds the checkout with a command line that imports a module on demand. Returns the name of that module's file. */
async function build(version: number): Promise<string> {
  await writeFile(checkout.path('apps/cli/src/main.ts'), "await import('./part.js');\n");
  await writeFile(checkout.path('apps/cli/src/part.ts'), `console.log(${version});\n`);
  const before = await chunks();
  await promisify(execFile)(process.execPath, [checkout.path('apps/launcher/build.mjs')]);
  const [chunk = ''] = (await chunks()).filter((file) => !before.includes(file));
  return chunk;
}

async function chunks(): Promise<string[]> {
  return (await readdir(checkout.path('dist')).catch(() => [])).filter((file) => /^cli-.*\.js$/.test(file));
}

describe('a build beside running processes', () => {
  it('keeps the chunks of the previous build, which its processes may still import on demand, and removes the chunks of older builds', async () => {
    const [first, second] = [await build(1), await build(2)];
    expect(await chunks()).toEqual(expect.arrayContaining([first, second]));
    const third = await build(3);
    expect((await chunks()).sort()).toEqual([second, third].sort());
  });

  it('replaces each program file atomically, so that a process that has the old file open can still read it', async () => {
    await build(1);
    const text = 'A process is reading this file.';
    await writeFile(checkout.path('dist/cli.js'), text);
    const reader = await open(checkout.path('dist/cli.js'));
    await build(2);
    expect(await reader.readFile('utf8')).toBe(text);
    await reader.close();
  });

  it('replaces the console even if an interrupted build with the same process id left temporary folders behind', async () => {
    await build(1);
    await writeFile(checkout.path('apps/console/index.html'), '<!-- build:head -->');
    // The shell becomes the build, so that both have the same process id.
    const script =
      'for end in old tmp; do folder=dist/console.$$.$end/assets; mkdir -p $folder; touch $folder/former.js; done; ' +
      'exec "$0" apps/launcher/build.mjs';
    await promisify(execFile)('/bin/sh', ['-c', script, process.execPath], { cwd: checkout.root });
    expect((await readdir(checkout.path('dist'))).filter((name) => /^console/.test(name))).toEqual([
      'console',
    ]);
    expect(await readdir(checkout.path('dist/console/assets'))).not.toContain('former.js');
    expect(await readFile(checkout.path('dist/console/index.html'), 'utf8')).toMatch(/^<(link|script)/);
  });

  it('bundles a program again if its file is missing', async () => {
    await build(1);
    await rm(checkout.path('dist/cli.js'));
    await build(1);
    expect(await readdir(checkout.path('dist'))).toContain('cli.js');
  });
});
