import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const DIST = resolve(import.meta.dirname, '../../dist');
/**
 * Maximum size of all files of the bundle that a start of the command line loads, in bytes: half as much again as the
 * 221,000 bytes that it needs. What only `tidings listen` or `tidings doctor` needs is more than a megabyte.
 */
const MAX_LOADED_BYTES = 330_000;

/** Runs the command line, and returns the files of its bundle that it loaded: those in Node.js' report of coverage. */
async function loadedBy(...parameters: string[]): Promise<string[]> {
  const reports = await mkdtemp(join(tmpdir(), 'tidings-coverage-'));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: reports };
    await promisify(execFile)(process.execPath, [join(DIST, 'cli.js'), ...parameters], { env });
    const [report = ''] = await readdir(reports);
    const { result } = JSON.parse(await readFile(join(reports, report), 'utf8')) as {
      result: { url: string }[];
    };
    return result
      .filter(({ url }) => url.startsWith(pathToFileURL(`${DIST}/`).href))
      .map(({ url }) => fileURLToPath(url));
  } finally {
    await rm(reports, { recursive: true });
  }
}

it('a start of the command line loads nothing large that only some commands need', async () => {
  const files = await loadedBy('--version');
  expect(files.map((file) => basename(file))).toContain('cli.js');
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_LOADED_BYTES);
});
