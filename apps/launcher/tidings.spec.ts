import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { takeLock } from './src/lock.mjs';

/** A checkout with the secrets of `npm start`, and a command line that prints its environment. */
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-command-'));
  for (const file of ['apps/launcher/tidings.mjs', 'apps/launcher/src/lock.mjs'])
    await cp(join(import.meta.dirname, '../..', file), join(root, file));
  for (const folder of ['dist', '.data']) await mkdir(join(root, folder));
  await writeFile(join(root, 'dist/cli.js'), 'console.log(JSON.stringify(process.env));');
  await writeFile(join(root, '.data/secrets.json'), '{"apiKey":"tk_of_npm_start"}');
});

afterEach(() => rm(root, { recursive: true, force: true }));

/** Runs `npx tidings`, and returns the environment of the command line. */
async function environmentOf(environment: Record<string, string>): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'apps/launcher/tidings.mjs')], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  return JSON.parse(stdout) as Record<string, string>;
}

/** Returns the API key that the command line gets for the gateway of `npm start`. */
async function keyOf(environment: Record<string, string>): Promise<string | undefined> {
  return (await environmentOf(environment))['TIDINGS_CHECKOUT_KEY'];
}

describe('npx tidings in a checkout', () => {
  it('uses the API key of the gateway of npm start: the value of API_KEY if set, otherwise the key that npm start created', async () => {
    expect(await keyOf({})).toBe('tk_of_npm_start');
    expect(await keyOf({ API_KEY: '' })).toBe('tk_of_npm_start');
    expect(await keyOf({ API_KEY: 'tk_given' })).toBe('tk_given');
  });

  it('reaches the gateway and the simulator that npm start runs in this checkout, on any port', async () => {
    expect(await environmentOf({ PORT: '3050', SIMULATOR_PORT: '4050' })).toMatchObject({
      TIDINGS_CHECKOUT_URL: 'http://127.0.0.1:3050',
      TIDINGS_CHECKOUT_SIMULATOR: 'http://127.0.0.1:4050',
    });
    const lock = takeLock(join(root, '.data/launcher.lock'));
    if (!lock.held) throw new Error('the lock was refused');
    lock.annotate({ note: 'http://127.0.0.1:3020', simulator: 'http://127.0.0.1:4020' });
    expect(await environmentOf({})).toMatchObject({
      TIDINGS_CHECKOUT_URL: 'http://127.0.0.1:3020',
      TIDINGS_CHECKOUT_SIMULATOR: 'http://127.0.0.1:4020',
    });
    lock.release();
  });
});
