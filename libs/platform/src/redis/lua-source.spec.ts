import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LuaSourceError, readLuaSource } from './lua-source.mjs';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-lua-')));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Writes a file and returns its path. */
async function lua(name: string, ...lines: string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, lines.join('\n'));
  return path;
}

describe('a Lua script', () => {
  it('gets a local variable for each declared key and argument; the variable of a declared list contains the index of the first element', async () => {
    const path = await lua(
      'script.lua',
      '--- Does it.',
      '-- @key list   A list.',
      '-- @keys sets   More keys.',
      '-- @arg version   A version.',
      '-- @args events   Events.',
      '-- @reply   Nothing.',
      'return 1',
    );
    const { text, signature } = readLuaSource(path);
    expect(signature).toEqual({
      ...{ keys: ['list'], keysTail: 'sets', args: ['version'], argsTail: 'events', fields: [] },
    });
    expect(text).toMatch(
      /^local list = KEYS\[1\]\nlocal version = ARGV\[1\]\nlocal sets_from = 2\nlocal events_from = 2\n--- Does it\./,
    );
  });

  it('contains the text of each included file once, before the code that includes the file', async () => {
    const script = await lua(
      'script.lua',
      ...['--- Does it.', '-- @reply   Nothing.'],
      ...['--- @include "parts/a.lua"', '--- @include "parts/b.lua"', 'return a() + b()'],
    );
    await lua('parts/a.lua', '--- Gives a.', '--- @include "b.lua"', 'local function a() return b() end');
    await lua('parts/b.lua', '--- Gives b.', 'local function b() return 1 end');
    const { text, origins } = readLuaSource(script);
    expect(text.match(/local function b/g)).toHaveLength(1);
    expect(text.indexOf('function b')).toBeLessThan(text.indexOf('function a'));
    const line = text.split('\n').indexOf('return a() + b()');
    expect(origins[line]).toEqual({ file: script, line: 5 });
  });

  it('may include a file of another library by the name of that library', async () => {
    const path = await lua(
      'script.lua',
      ...['--- Does it.', '-- @reply   Nothing.', '--- @include "@platform/redis/lua/includes/now.lua"'],
    );
    expect(readLuaSource(path).text).toContain('local function now_ms()');
  });

  it('gets a local variable for each declared constant; a missing value or an undeclared constant is an error', async () => {
    const path = await lua(
      'script.lua',
      ...['--- Does it.', '-- @constant MAX   A maximum.', '-- @reply   Nothing.'],
    );
    expect(readLuaSource(path, { MAX: 7 }).text).toMatch(/^local MAX = 7\n/);
    expect(() => readLuaSource(path, {})).toThrow('no value is given for @constant MAX');
    expect(() => readLuaSource(path, { MAX: 7, MIN: 1 })).toThrow('no @constant is named MIN');
  });

  it('is rejected if its includes form a cycle', async () => {
    const path = await lua('script.lua', '--- Does it.', '-- @reply   Nothing.', '--- @include "a.lua"');
    await lua('a.lua', '--- Gives a.', '--- @include "b.lua"');
    await lua('b.lua', '--- Gives b.', '--- @include "a.lua"');
    expect(() => readLuaSource(path)).toThrow(/cycle: .*a\.lua -> .*b\.lua -> .*a\.lua/);
  });

  it.each([
    ['without a sentence that describes the script', ['-- @reply   Nothing.'], 'one sentence'],
    ['without a description of its reply', ['--- Does it.'], 'exactly one @reply'],
    ['with an unknown tag', ['--- Does it.', '-- @reply   Nothing.', '-- @karg a   A.'], 'unknown tag @karg'],
    ['with a key that is not described', ['--- Does it.', '-- @key a'], '@key a is not described'],
    [
      'with a key and an argument of the same name',
      ['--- Does it.', '-- @reply   Nothing.', '-- @key a   A.', '-- @arg a   A.'],
      '"a" is declared twice',
    ],
    [
      'that includes a file that does not exist',
      ['--- Does it.', '-- @reply   Nothing.', '--- @include "gone.lua"'],
      'gone.lua, which does not exist',
    ],
    [
      'with an include directive in the wrong syntax',
      ['--- Does it.', '-- @reply   Nothing.', "-- @include 'a.lua'"],
      'not an include',
    ],
  ])('is rejected if its header or an include is invalid: a script %s', async (_, lines, words) => {
    const path = await lua('script.lua', ...lines);
    expect(() => readLuaSource(path)).toThrow(LuaSourceError);
    expect(() => readLuaSource(path)).toThrow(words);
  });

  it('is rejected if an included file uses a key or argument that the script does not declare', async () => {
    const path = await lua('script.lua', '--- Does it.', '-- @reply   Nothing.', '--- @include "a.lua"');
    await lua('a.lua', '--- Gives a.', '-- @uses list   A list.');
    expect(() => readLuaSource(path)).toThrow('uses "list", but no key or argument has this name');
  });
});
