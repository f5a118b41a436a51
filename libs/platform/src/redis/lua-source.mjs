// Reads Lua scripts for Redis. Plain JavaScript: the linter runs this module without a build.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** Folder that contains all libs: as sources if this file is a source, as build output if this file was built. */
export const LIBS = resolve(import.meta.dirname, '../../..');

/**
 * Names that the header of a script declares, in the order of KEYS, of ARGV and of the reply. A tail names the list
 * of all elements that follow the named ones.
 * @typedef {{ keys: string[], keysTail?: string, args: string[], argsTail?: string, fields: string[], fieldsTail?: string }} Signature
 */

/**
 * @typedef {object} LuaSource
 * @property {string} text of the script with its includes and the declarations of its names
 * @property {{ file: string, line: number }[]} origins of each line of `text`; line 0 is generated
 * @property {Signature} signature
 * @property {string[]} constants names of the constants for which the loader needs values
 * @property {string[]} includes all files that the script includes
 */

/** Thrown for a Lua file with an invalid header or include. */
export class LuaSourceError extends Error {}

const INCLUDE = /^--- @include "([^"]+)"$/;
const TAG = /^-- @(\w+)(?:\s+(\S+))?(?:\s+(.*))?$/;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Tags of a header, and the kind of file in which each is allowed. */
const TAGS = new Map([
  ['key', 'script'],
  ['keys', 'script'],
  ['arg', 'script'],
  ['args', 'script'],
  ['field', 'script'],
  ['fields', 'script'],
  ['reply', 'script'],
  ['constant', 'both'],
  ['uses', 'include'],
]);

/**
 * Reads a script, inserts the included files, and declares the keys, arguments and constants as local variables.
 * @param {string} path of the script
 * @param {Readonly<Record<string, string | number>>} [values] values of the constants; by default, each is 0
 * @returns {LuaSource}
 * @throws {LuaSourceError}
 */
export function readLuaSource(path, values) {
  const files = expand(path);
  const header = tagsOf(files[0] ?? { path, lines: [] }, 'script');
  const fragments = files.slice(1).flatMap((file) => tagsOf(file, 'include'));
  const signature = signatureOf(path, header);
  const constants = [...new Set(named([...header, ...fragments], 'constant'))];
  const bound = [...signature.keys, ...signature.args];
  for (const { file, name } of fragments.filter(({ tag }) => tag === 'uses')) {
    if (!bound.includes(name))
      throw fault(path, `${nameOf(file)} uses "${name}", but no key or argument has this name`);
  }
  if (values !== undefined) checkConstants(path, constants, Object.keys(values));
  const declarations = declare(signature, constants, values ?? {});
  const body = inOrder(files);
  return {
    text: [...declarations, ...body.map(({ text }) => text), ''].join('\n'),
    origins: [
      ...declarations.map(() => ({ file: path, line: 0 })),
      ...body.map(({ file, line }) => ({ file, line })),
    ],
    signature,
    constants,
    includes: files.slice(1).map((file) => file.path),
  };
}

/** @typedef {{ path: string, lines: string[] }} LuaFile */
/** @typedef {{ file: string, line: number, tag: string, name: string, words: string }} Tag */

/**
 * Returns the script and all files that it includes, each once.
 * @param {string} path
 * @returns {LuaFile[]}
 */
function expand(path) {
  /** @type {Map<string, LuaFile>} */
  const files = new Map();
  /** @type {(at: string, includers: string[]) => void} */
  const visit = (at, includers) => {
    if (includers.includes(at)) {
      throw fault(path, `includes form a cycle: ${[...includers, at].map(nameOf).join(' -> ')}`);
    }
    if (files.has(at)) return;
    const file = { path: at, lines: linesOf(at, includers.at(-1)) };
    files.set(at, file);
    for (const line of file.lines) {
      const target = INCLUDE.exec(line)?.[1];
      if (target !== undefined) visit(resolveInclude(at, target), [...includers, at]);
      else if (line.includes('@include')) throw fault(at, `not an include: ${line}`);
    }
  };
  visit(path, []);
  return [...files.values()];
}

/**
 * @param {string} path
 * @param {string | undefined} includer
 */
function linesOf(path, includer) {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n');
  } catch (error) {
    const isMissing =
      typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
    if (!isMissing) throw error;
    throw fault(
      includer ?? path,
      includer === undefined ? 'not found' : `includes ${nameOf(path)}, which does not exist`,
    );
  }
}

/**
 * Returns the path of an include: relative to the including file, or `@lib/path` below the sources of a lib.
 * @param {string} from
 * @param {string} target
 */
function resolveInclude(from, target) {
  const [, lib = '', rest = ''] = /^@([\w-]+)\/(.+)$/.exec(target) ?? [];
  return lib === '' ? resolve(dirname(from), target) : join(LIBS, lib, 'src', rest);
}

/**
 * Returns all lines in the order in which Redis runs them. The first directive that includes a file is replaced by
 * its text.
 * @param {LuaFile[]} files
 */
function inOrder(files) {
  /** @type {{ text: string, file: string, line: number }[]} */
  const lines = [];
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {(path: string) => void} */
  const put = (path) => {
    if (done.has(path)) return;
    done.add(path);
    for (const [index, text] of (files.find((file) => file.path === path)?.lines ?? []).entries()) {
      const target = INCLUDE.exec(text)?.[1];
      if (target === undefined) lines.push({ text, file: path, line: index + 1 });
      else put(resolveInclude(path, target));
    }
  };
  put(files[0]?.path ?? '');
  return lines;
}

/**
 * @param {LuaFile} file
 * @param {'script' | 'include'} kind
 * @returns {Tag[]}
 */
function tagsOf({ path, lines }, kind) {
  if (!/^--- [A-Z].*[.:]$/.test(lines[0] ?? '')) {
    throw fault(path, 'the first line must say in one sentence what the file does: "--- Adds an account."');
  }
  return lines.flatMap((text, index) => {
    const [, tag, name = '', words = ''] = TAG.exec(text) ?? [];
    if (tag === undefined) return [];
    const place = TAGS.get(tag);
    if (place === undefined) throw fault(path, `unknown tag @${tag}`);
    if (place !== 'both' && place !== kind)
      throw fault(path, `@${tag} is only allowed in a${kind === 'script' ? 'n included file' : ' script'}`);
    if (tag !== 'reply' && !NAME.test(name)) throw fault(path, `not a name: @${tag} ${name}`);
    if (words === '' && tag !== 'reply') throw fault(path, `@${tag} ${name} is not described`);
    return [{ file: path, line: index + 1, tag, name, words }];
  });
}

/**
 * @param {string} path
 * @param {Tag[]} tags
 * @returns {Signature}
 */
function signatureOf(path, tags) {
  if (tags.filter(({ tag }) => tag === 'reply').length !== 1)
    throw fault(path, 'exactly one @reply is needed');
  const [keys, args, fields] = [named(tags, 'key'), named(tags, 'arg'), named(tags, 'field')];
  const [keysTail, argsTail, fieldsTail] = ['keys', 'args', 'fields'].map((tag) => {
    const names = named(tags, tag);
    if (names.length > 1) throw fault(path, `more than one @${tag}`);
    return names[0];
  });
  for (const names of [
    [...keys, ...args, ...tailOf(keysTail), ...tailOf(argsTail)],
    [...fields, ...tailOf(fieldsTail)],
  ]) {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw fault(path, `"${twice}" is declared twice`);
  }
  return {
    keys,
    args,
    fields,
    ...(keysTail === undefined ? {} : { keysTail }),
    ...(argsTail === undefined ? {} : { argsTail }),
    ...(fieldsTail === undefined ? {} : { fieldsTail }),
  };
}

/** @param {string | undefined} name */
function tailOf(name) {
  return name === undefined ? [] : [name];
}

/**
 * @param {Tag[]} tags
 * @param {string} wanted
 */
function named(tags, wanted) {
  return tags.filter(({ tag }) => tag === wanted).map(({ name }) => name);
}

/**
 * Returns the lines that declare the names: `list` for KEYS[1], and `events_from` for the index at which a tail
 * begins.
 * @param {Signature} signature
 * @param {string[]} constants
 * @param {Readonly<Record<string, string | number>>} values
 */
function declare({ keys, keysTail, args, argsTail }, constants, values) {
  /** @type {(names: string[], list: string) => string[]} */
  const bind = (names, list) =>
    names.length === 0
      ? []
      : [`local ${names.join(', ')} = ${names.map((_, index) => `${list}[${index + 1}]`).join(', ')}`];
  return [
    ...bind(keys, 'KEYS'),
    ...bind(args, 'ARGV'),
    ...tailOf(keysTail).map((name) => `local ${name}_from = ${keys.length + 1}`),
    ...tailOf(argsTail).map((name) => `local ${name}_from = ${args.length + 1}`),
    ...constants.map((name) => `local ${name} = ${JSON.stringify(values[name] ?? 0)}`),
  ];
}

/**
 * @param {string} path
 * @param {string[]} wanted
 * @param {string[]} given
 */
function checkConstants(path, wanted, given) {
  const missing = wanted.filter((name) => !given.includes(name));
  const unknown = given.filter((name) => !wanted.includes(name));
  if (missing.length > 0) throw fault(path, `no value is given for @constant ${missing.join(', ')}`);
  if (unknown.length > 0) throw fault(path, `no @constant is named ${unknown.join(', ')}`);
}

/** @param {string} path */
export function nameOf(path) {
  return relative(dirname(LIBS), path);
}

/**
 * @param {string} path
 * @param {string} words
 */
function fault(path, words) {
  return new LuaSourceError(`${nameOf(path)}: ${words}`);
}
