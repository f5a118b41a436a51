import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

/** A repository with the pre-commit hook, and with programs that only record how they are called. */
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-pre-commit-'));
  execFileSync('git', ['init', '--quiet', root]);
  const hook = 'apps/launcher/pre-commit.mjs';
  await cp(join(import.meta.dirname, '../..', hook), join(root, hook));
  for (const program of ['prettier/bin/prettier.cjs', 'typescript/bin/tsc', 'eslint/bin/eslint.js'])
    await write(
      `node_modules/${program}`,
      "require('node:fs').appendFileSync('calls', `${process.argv.slice(1).join(' ')}\\n`);",
    );
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, file)), { recursive: true });
  await writeFile(join(root, file), text);
}

/** Stages a file and runs the hook. Returns the calls of the programs. */
async function callsFor(file: string): Promise<string> {
  await write(file, '');
  execFileSync('git', ['-C', root, 'add', file]);
  execFileSync(process.execPath, [join(root, 'apps/launcher/pre-commit.mjs')]);
  return await readFile(join(root, 'calls'), 'utf8');
}

it.each(['apps/console/src/page.tsx', 'libs/client/src/client.ts'])(
  'the pre-commit hook lints %s, and type-checks the console',
  async (file) => {
    const calls = await callsFor(file);
    expect(calls).toMatch(new RegExp(`eslint\\.js .*${file}$`, 'm'));
    expect(calls).toMatch(/tsc --noEmit -p apps\/console /);
  },
);

it('the pre-commit hook does not type-check the console for a file that the console does not use', async () => {
  const calls = await callsFor('libs/relay/src/index.ts');
  expect(calls).toMatch(/tsc --noEmit --incremental/);
  expect(calls).not.toContain('-p apps/console');
});
