import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ROOT } from '../support/process.js';
import { Product } from '../support/product.js';

const run = promisify(execFile);
const DEADLINE_MS = 120_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-package-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The first TypeScript sample of the package's README. */
async function sample(): Promise<string> {
  const text = await readFile(join(ROOT, 'libs/client/README.md'), 'utf8');
  const [, code] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
  if (code === undefined) throw new Error('the README of the client has no sample');
  return code;
}

it('the packed npm client can be installed in an empty folder, type-checks there, and sends a text', async () => {
  const npm = (parameters: string[], cwd: string): Promise<{ stdout: string }> =>
    run('npm', parameters, { cwd, timeout: DEADLINE_MS });
  const { stdout } = await npm(
    ['pack', '--json', '--pack-destination', folder, join(ROOT, 'libs/client')],
    ROOT,
  );
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  expect(files.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']),
  );
  expect(files.filter(({ path }) => /spec|^src/.test(path))).toEqual([]);

  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
  await npm(['install', '--offline', '--no-audit', '--no-fund', `./${filename}`], folder);
  const code = await sample();
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(12);
  await writeFile(
    join(folder, 'send.ts'),
    `declare const process: { env: Record<string, string | undefined> };\n${code}`,
  );
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        target: 'es2022',
        module: 'nodenext',
        lib: ['es2023', 'dom'],
        types: [],
        skipDefaultLibCheck: true,
      },
      files: ['send.ts'],
    }),
  );
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', '.'], { cwd: folder, timeout: DEADLINE_MS });

  await using product = await Product.start();
  const sent = await run(process.execPath, ['send.js'], {
    cwd: folder,
    timeout: DEADLINE_MS,
    env: {
      ...process.env,
      TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
      TIDINGS_KEY: product.apiKey,
    },
  });
  expect(sent.stdout).toMatch(/^snd_\w+ delivered\n$/);
});
