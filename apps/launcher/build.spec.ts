import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { build, productTarget } from './build.mjs';

const REPOSITORY = resolve(import.meta.dirname, '../..');

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'tidings-build-')));
  await symlink(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, '.swcrc'), await readFile(join(REPOSITORY, '.swcrc')));
  const projects = { one: { sourceRoot: 'libs/one/src' }, missing: { sourceRoot: 'libs/missing/src' } };
  await write('nest-cli.json', JSON.stringify({ projects }));
  await write('libs/one/src/index.ts', 'export const one: number = 1;\n');
  await write('libs/one/src/part/two.ts', 'export const two: number = 2;\n');
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

async function exists(path: string): Promise<boolean> {
  return await stat(join(root, path)).then(
    () => true,
    () => false,
  );
}

describe('the build', () => {
  it('compiles all source files except tests, and creates a source map for each', async () => {
    await write('libs/one/src/index.spec.ts', 'throw new Error();');
    await write('libs/one/src/plain.mjs', 'export const plain = 1;\n');
    expect(await build(root)).toEqual({ sources: 3, compiled: 3, removed: 0 });
    const code = await readFile(join(root, 'dist/libs/one/src/part/two.js'), 'utf8');
    expect(code).toMatch(/export const two = 2;[^]*sourceMappingURL=two\.js\.map/);
    const map: unknown = JSON.parse(await readFile(join(root, 'dist/libs/one/src/part/two.js.map'), 'utf8'));
    expect(map).toMatchObject({ sources: ['../../../../../libs/one/src/part/two.ts'] });
    expect(await exists('dist/libs/one/src/plain.mjs')).toBe(true);
    expect(await exists('dist/libs/one/src/index.spec.js')).toBe(false);
  });

  it('compiles only sources that have changed or whose output is missing, but all sources after a change of .swcrc', async () => {
    await build(root);
    expect(await build(root)).toMatchObject({ compiled: 0 });
    await write('libs/one/src/index.ts', 'export const one: number = 11;\n');
    await rm(join(root, 'dist/libs/one/src/part/two.js.map'));
    expect(await build(root)).toMatchObject({ compiled: 2 });
    await write('.swcrc', (await readFile(join(root, '.swcrc'), 'utf8')).replace('es2023', 'es2022'));
    expect(await build(root)).toMatchObject({ compiled: 2 });
  });

  it('copies Lua scripts beside the modules that run them, and updates or removes a copy together with its script', async () => {
    const [source, copy] = ['libs/one/src/lua/part/answer.lua', 'dist/libs/one/src/lua/part/answer.lua'];
    await write(source, 'return 1\n');
    await build(root);
    await write(source, 'return 2\n');
    expect(await build(root)).toMatchObject({ compiled: 1 });
    expect(await readFile(join(root, copy), 'utf8')).toBe('return 2\n');
    await rm(join(root, source));
    expect(await build(root)).toMatchObject({ compiled: 0, removed: 1 });
    expect(await exists(copy)).toBe(false);
  });

  it('removes the output of deleted sources', async () => {
    await build(root);
    await rm(join(root, 'libs/one/src/part'), { recursive: true });
    expect(await build(root)).toMatchObject({ removed: 2 });
    expect(await exists('dist/libs/one/src/part')).toBe(false);
    expect(await exists('dist/libs/one/src/index.js')).toBe(true);
  });

  it('names each file with a compile error in every build, and builds the other files', async () => {
    await write('libs/one/src/bad.ts', 'const = 1;\n');
    await write('libs/one/src/worse.ts', '}\n');
    for (let times = 0; times < 2; times++) {
      await expect(build(root)).rejects.toThrow(/libs\/one\/src\/bad\.ts: [^]*libs\/one\/src\/worse\.ts: /);
    }
    expect(await exists('dist/libs/one/src/index.js')).toBe(true);
  });

  it('compiles a source again after an interrupted build, even if the source was changed back to its earlier content', async () => {
    await build(root);
    await write('libs/one/src/index.ts', 'export const one: number = 11;\n');
    let record = '';
    const after = (code: string): string => {
      record = readFileSync(join(root, 'dist/.build.json'), 'utf8');
      return code;
    };
    await build(root, { ...productTarget(root), after });
    // The state that a build leaves behind if it is interrupted after it wrote the output.
    await write('dist/.build.json', record);
    await write('libs/one/src/index.ts', 'export const one: number = 1;\n');
    expect(await build(root)).toMatchObject({ compiled: 1 });
  });

  it('builds everything if the record of the last build is unreadable', async () => {
    await build(root);
    await write('dist/.build.json', '{"compiler":');
    expect(await build(root)).toMatchObject({ compiled: 2 });
  });
});
