import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLuaSource, type Signature } from './lua-source.mjs';
import type { RedisClient } from './redis-connection.js';
import { type RedisArgument, EvalshaScript } from './redis-evalsha-script.js';

/**
 * Redis keys for a script. Their names are declared in the header of the script with `@key` or `@keys`, and are in
 * camel case here. The value for a name that `@keys` declares is a list.
 */
export type LuaKeys = Readonly<Record<string, string | readonly string[]>>;
/**
 * Arguments for a script. Their names are declared in the header of the script with `@arg` or `@args`, and are in
 * camel case here. The value for a name that `@args` declares is a list.
 */
export type LuaArguments = Readonly<Record<string, RedisArgument | readonly RedisArgument[]>>;

const CLUSTER_GUARD = readLuaSource(
  resolve(dirname(fileURLToPath(import.meta.url)), 'lua/cluster-guard.lua'),
  {},
).text;

/**
 * A Lua script in a file of its own. A header in the file names the script's keys, arguments and constants, and the
 * fields of its reply:
 *
 *     --- Moves a send to the end of its lane.
 *     -- @key lane          List of the lane's sends.
 *     -- @key sends_due     …
 *     -- @arg id            …
 *     -- @args events       … (a list: all arguments that follow)
 *     -- @constant MAX_AGE  … (a value that the module gives when it loads the script)
 *     -- @reply             …
 *     -- @field state       … (the first element of the reply, if the reply is an array)
 *     --- @include "includes/now.lua"
 *
 * In the script, each declared name is a local variable. For a list such as `events`, the variable `events_from` has
 * the index at which the list begins.
 *
 * Callers that spread objects into the keys or arguments put the spreads last. V8 then creates the object literal
 * about a hundred times faster than with the spreads first.
 */
export class LuaScript {
  private readonly script: EvalshaScript;
  private readonly keys: Names;
  private readonly args: Names;
  private readonly fields: Names;

  private constructor(
    private readonly path: string,
    text: string,
    { keys, keysTail, args, argsTail, fields, fieldsTail }: Signature,
  ) {
    this.script = new EvalshaScript(text, CLUSTER_GUARD + text);
    this.keys = namesOf(keys, keysTail);
    this.args = namesOf(args, argsTail);
    this.fields = namesOf(fields, fieldsTail);
  }

  /**
   * Reads a script from its file. Modules call this function when they are loaded.
   *
   * @param module URL of the module, `import.meta.url`
   * @param path path of the file, relative to the module
   * @param constants values of the constants that the script and its includes declare
   * @throws {LuaSourceError} if the file, its header or an include is not valid
   */
  static from(
    module: string,
    path: string,
    constants: Readonly<Record<string, string | number>> = {},
  ): LuaScript {
    const file = resolve(dirname(fileURLToPath(module)), path);
    const { text, signature } = readLuaSource(file, constants);
    return new LuaScript(path, text, signature);
  }

  /**
   * Runs the script. All keys must be in one hash slot. Arguments that are Buffers are sent unchanged.
   * Strings in the reply are decoded as text. A reply that is an array becomes an object if the header of the
   * Lua file names its fields.
   *
   * @throws {TypeError} if the given names differ from the names that the header of the Lua file declares
   */
  async run(redis: RedisClient, keys: LuaKeys, args: LuaArguments = {}): Promise<unknown> {
    return this.named(await this.script.run(redis, this.keysOf(keys), this.argumentsOf(args)));
  }

  /** Runs the script like {@link run}, but returns Buffers in place of strings. */
  async runForBuffers(redis: RedisClient, keys: LuaKeys, args: LuaArguments = {}): Promise<unknown> {
    return this.named(await this.script.runForBuffers(redis, this.keysOf(keys), this.argumentsOf(args)));
  }

  private keysOf(keys: LuaKeys): string[] {
    return inOrder(this.path, 'key', this.keys, keys);
  }

  private argumentsOf(args: LuaArguments): RedisArgument[] {
    return inOrder<RedisArgument>(this.path, 'argument', this.args, args);
  }

  private named(reply: unknown): unknown {
    const { names, tail } = this.fields;
    if (!Array.isArray(reply) || (names.length === 0 && tail === undefined)) return reply;
    const values: readonly unknown[] = reply;
    const result: Record<string, unknown> = {};
    for (const [index, name] of names.entries()) result[name] = values[index];
    if (tail !== undefined) result[tail] = values.slice(names.length);
    return result;
  }
}

interface Names {
  names: readonly string[];
  tail: string | undefined;
}

function namesOf(names: readonly string[], tail: string | undefined): Names {
  return { names: names.map(camelCase), tail: tail === undefined ? undefined : camelCase(tail) };
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Returns the keys or arguments of a script in the order in which the header of the Lua file declares them. The
 * elements of a declared list come last.
 */
function inOrder<Value>(
  path: string,
  kind: string,
  { names, tail }: Names,
  given: Readonly<Record<string, Value | readonly Value[]>>,
): Value[] {
  const values: Value[] = [];
  for (const name of names) {
    const value = given[name];
    if (value === undefined || Array.isArray(value))
      throw new TypeError(`${path}: no ${kind} ${name} is given`);
    values.push(value as Value);
  }
  let count = names.length;
  if (tail !== undefined) {
    const rest = given[tail];
    if (!Array.isArray(rest)) throw new TypeError(`${path}: no list of ${kind}s ${tail} is given`);
    // The values are not spread into `push`, because JavaScript limits the number of arguments of a call.
    for (const value of rest as readonly Value[]) values.push(value);
    count += 1;
  }
  if (Object.keys(given).length !== count) {
    const unknown = Object.keys(given).filter((name) => name !== tail && !names.includes(name));
    throw new TypeError(`${path}: no ${kind} is named ${unknown.join(', ')}`);
  }
  return values;
}
