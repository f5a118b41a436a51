// Checks all Lua scripts of the product: headers, which libs a script may include, and, with luacheck, the code.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { LIBS, LuaSourceError, nameOf, readLuaSource } from '../../libs/platform/src/redis/lua-source.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
const FOUNDATIONS = ['events', 'upstream', 'accounts', 'blobs', 'conversations'];
const CAPABILITIES = ['relay', 'feed', 'webhooks'];
/** A key or an argument that a script refers to by its number. A script must use the name that its header declares. */
const BY_NUMBER = /\b(KEYS|ARGV)\[\d+\]/;
/** A call of a Redis command in Lua. TypeScript writes the names of commands in lower case. */
const LUA_CALL = /\bredis\.p?call\('[A-Z]/;

/** @typedef {import('../../libs/platform/src/redis/lua-source.mjs').LuaSource} LuaSource */

/**
 * Checks the scripts below libs/.
 * @param {(text: string) => void} [say] prints remarks that are not findings
 * @returns {string[]} findings, one a line
 */
export function checkLua(say = console.log) {
  const files = readdirSync(LIBS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.lua'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const scripts = files.filter((file) => !file.includes(`${sep}includes${sep}`));
  /** @type {string[]} */
  const findings = [];
  /** @type {Map<string, LuaSource>} */
  const sources = new Map();
  for (const script of scripts) {
    try {
      sources.set(script, readLuaSource(script));
    } catch (error) {
      if (!(error instanceof LuaSourceError)) throw error;
      findings.push(error.message);
    }
  }
  const included = new Set([...sources.values()].flatMap(({ includes }) => includes));
  for (const file of files) {
    if (!scripts.includes(file) && !included.has(file))
      findings.push(`${nameOf(file)}: no script includes this file`);
    findings.push(...numbersIn(file));
  }
  findings.push(...luaInStrings());
  for (const [script, { includes }] of sources) findings.push(...forbiddenIn(script, includes));
  findings.push(...luacheck(sources, say));
  if (findings.length === 0) say(`${scripts.length} Lua scripts and ${included.size} includes are valid.`);
  return [...new Set(findings)];
}

/** @param {string} file */
function numbersIn(file) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const found = BY_NUMBER.exec(text)?.[0];
      return found === undefined
        ? []
        : [
            `${nameOf(file)}:${index + 1}: the script uses ${found}; declare a name for this key or argument in the header, and use the name`,
          ];
    });
}

/** Returns the modules that contain Lua as a string. */
function luaInStrings() {
  return readdirSync(LIBS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.spec)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => LUA_CALL.test(readFileSync(file, 'utf8')))
    .map(
      (file) =>
        `${nameOf(file)}: a string contains Lua code; move the code to a .lua file for the class LuaScript`,
    );
}

/**
 * Returns includes that lead to a lib that the including lib must not use.
 * @param {string} script
 * @param {string[]} includes
 */
function forbiddenIn(script, includes) {
  const lib = libOf(script);
  const allowed = [lib, 'platform', ...(CAPABILITIES.includes(lib) ? FOUNDATIONS : [])];
  return includes
    .filter((file) => !allowed.includes(libOf(file)))
    .map((file) => `${nameOf(script)}: a script of libs/${lib} must not include ${nameOf(file)}`);
}

/** @param {string} file */
function libOf(file) {
  return relative(LIBS, file).split(sep)[0] ?? '';
}

/**
 * Runs luacheck on each script with its includes. Returns the findings, each with its file and line in the sources.
 * @param {Map<string, LuaSource>} sources
 * @param {(text: string) => void} say
 * @returns {string[]}
 */
function luacheck(sources, say) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-lua-'));
  try {
    const scripts = [...sources];
    for (const [index, [script, source]] of scripts.entries())
      writeFileSync(join(folder, `${index}.lua`), textFor(script, source));
    const result = spawnSync(
      'luacheck',
      ['--config', join(ROOT, '.luacheckrc'), '--formatter', 'plain', '--codes', '--no-color', '.'],
      { cwd: folder, encoding: 'utf8' },
    );
    if (result.error !== undefined && 'code' in result.error && result.error.code === 'ENOENT') {
      say(
        'luacheck is not installed: only headers and includes are checked. Install luacheck: apt-get install lua-check',
      );
      return [];
    }
    if (result.error !== undefined || (result.status ?? 2) > 1)
      throw new Error(`luacheck failed: ${result.error?.message ?? result.stderr}${result.stdout}`);
    return result.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, index = '', number = '', rest = ''] =
          /^(?:\.\/)?(\d+)\.lua:(\d+):\d+: (.*)$/.exec(line) ?? [];
        const [script, source] = scripts[Number(index)] ?? [];
        const origin = source?.origins[Number(number) - 1];
        if (script === undefined || origin === undefined) return line;
        return `${nameOf(origin.file)}:${origin.line}: ${rest}`;
      });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Returns the text of a script, line by line as Redis runs it. Comments make luacheck ignore unused functions of
 * includes, because no script uses all of them.
 * @param {string} script
 * @param {LuaSource} source
 */
function textFor(script, { text, origins }) {
  return text
    .split('\n')
    .map((line, index) => {
      const origin = origins[index];
      // A generated declaration contains all names of the script's header, so its line may be longer than luacheck
      // allows (warning 631).
      if (origin?.line === 0) return `${line} -- luacheck: ignore 631`;
      const isOffered = line.startsWith('local function ') || /^local [A-Z_, ]+ = /.test(line);
      return isOffered && origin?.file !== script ? `${line} -- luacheck: ignore 211 631` : line;
    })
    .join('\n');
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  const findings = checkLua();
  for (const finding of findings) console.error(finding);
  if (findings.length > 0) process.exitCode = 1;
}
