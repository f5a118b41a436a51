import { execFile } from 'node:child_process';
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Checkout } from './src/fixtures/checkout.js';
import { installPackages } from './setup/packages.mjs';

interface SetUpResult {
  status: number;
  output: string;
}

/**
 * Runs the set-up. The output is without the line that a slow build prints.
 * @param keys what the user types
 */
async function setUp(
  checkout: Checkout,
  words: string[],
  environment = {},
  keys?: string,
): Promise<SetUpResult> {
  const env = { PATH: process.env['PATH'], ...environment };
  const args = [checkout.path('apps/launcher/setup.mjs'), ...words];
  try {
    const running = promisify(execFile)(process.execPath, args, { env, timeout: 120_000 });
    if (keys !== undefined) running.child.stdin?.end(keys);
    const { stdout, stderr } = await running;
    return { status: 0, output: withoutProgress(stdout + stderr) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, output: withoutProgress(stdout + stderr) };
  }
}

/** Option of Node.js that makes standard input and output look like a terminal. */
const AS_TERMINAL = `--import=data:text/javascript,${encodeURIComponent('process.stdin.isTTY = process.stdout.isTTY = true;')}`;

const withoutProgress = (output: string): string => output.replace('Building …\n', '');

describe('the set-up', () => {
  let checkout: Checkout;

  beforeAll(async () => {
    checkout = await Checkout.make();
    await mkdir(checkout.path('test/bench'), { recursive: true });
  });

  afterAll(async () => {
    await checkout.dispose();
  });

  it('rejects unknown commands and arguments', async () => {
    expect(await setUp(checkout, ['start', '--fast'])).toEqual({
      status: 64,
      output:
        'npm start takes no arguments (got --fast); configure Tidings with environment variables: see docs/configuration.md\n',
    });
    expect(await setUp(checkout, ['dance'])).toMatchObject({ status: 64 });
  });

  it('of npm run bench fails if test/bench contains no benchmark', async () => {
    expect(await setUp(checkout, ['bench'])).toEqual({
      status: 1,
      output: 'No benchmarks found: test/bench contains no *.bench.ts file.\n',
    });
  });

  it('says how to install Redis if Redis is missing and cannot be installed automatically', async () => {
    const { status, output } = await setUp(checkout, ['start'], { PATH: '/nowhere' });
    expect({ status, output }).toEqual({
      status: 78,
      output: 'No Redis server on this machine: install Redis 7.0 or newer, or set REDIS_URL\n',
    });
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
    ['the end of the input', ''],
  ])('says how to install Redis if %s ends the question whether to install it', async (_, keys) => {
    await mkdir(checkout.path('bin'), { recursive: true });
    await writeFile(checkout.path('bin/brew'), '', { mode: 0o755 });
    const environment = { PATH: checkout.path('bin'), NODE_OPTIONS: AS_TERMINAL };
    const { status, output } = await setUp(checkout, ['start'], environment, keys);
    expect(status).toBe(78);
    expect(output).toContain('Run "brew install redis" now? [y/N]');
    expect(output).toContain(
      'No Redis server on this machine: install Redis with "brew install redis", or set',
    );
  });
});

describe('the npm packages', () => {
  let root: string;
  let calls: string;

  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'tidings-packages-')));
    calls = join(root, 'calls.txt');
    await mkdir(join(root, 'bin'));
    // Fake npm: records each call and writes the same files as a complete `npm ci`.
    await write(
      'bin/npm',
      '#!/bin/sh\necho "$@" >> calls.txt\n[ ! -e fail ] || exit 7\nmkdir -p node_modules\ncp installed.json node_modules/.package-lock.json\n',
    );
    await chmod(join(root, 'bin/npm'), 0o755);
    await lock('1.0.0');
  });

  afterEach(async () => {
    await rm(root, { recursive: true });
  });

  async function write(file: string, text: string): Promise<void> {
    await writeFile(join(root, file), text);
  }

  /**
   * Writes a package.json and a lock file that require version `wanted`. The fake npm installs that version.
   */
  async function lock(wanted: string): Promise<void> {
    const dependencies = { a: `^${wanted}` };
    const other = { version: '1.0.0', optional: true, os: ['an-other'], cpu: ['x64'] };
    const packages = { 'node_modules/a': { version: wanted, integrity: wanted } };
    await write('package.json', JSON.stringify({ dependencies }));
    await write(
      'package-lock.json',
      JSON.stringify({ packages: { '': { dependencies }, ...packages, 'node_modules/b': other } }),
    );
    await write('installed.json', JSON.stringify({ packages }));
  }

  async function install(): Promise<number> {
    await rm(calls, { force: true });
    const PATH = `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`;
    await installPackages(root, () => undefined, { PATH });
    return (await readFile(calls, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '').length;
  }

  it('are installed once, including development packages, and again after a change of the lock file', async () => {
    expect(await install()).toBe(1);
    expect(await install()).toBe(0);
    await lock('2.0.0');
    expect(await install()).toBe(1);
    expect(await readFile(calls, 'utf8')).toMatch(/^ci --include=dev /);
  });

  it('are not installed if the locked versions are already there', async () => {
    await mkdir(join(root, 'node_modules'));
    await symlink(join(root, 'installed.json'), join(root, 'node_modules/.package-lock.json'));
    expect(await install()).toBe(0);
  });

  it('are installed again after an interrupted installation', async () => {
    await install();
    await rm(join(root, 'node_modules/.package-lock.json'));
    expect(await install()).toBe(1);
    await write('node_modules/.package-lock.json', '{"packages": {}}');
    expect(await install()).toBe(1);
  });

  it('are installed without any output on standard output, which is for the results of commands', async () => {
    await appendFile(join(root, 'bin/npm'), 'echo added 1 package\n');
    const url = new URL('setup/packages.mjs', import.meta.url).href;
    const script = `const { installPackages } = await import('${url}'); await installPackages('${root}', () => {});`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', script],
      { env: { PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}` } },
    );
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'added 1 package\n' });
  });

  it('make the set-up fail if npm cannot install them', async () => {
    await write('fail', '');
    await expect(install()).rejects.toMatchObject({ exitCode: 1 });
    await rm(join(root, 'fail'));
    expect(await install()).toBe(1);
  });
});
