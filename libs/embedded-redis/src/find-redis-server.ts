import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const NAMES = ['redis-server', 'valkey-server'] as const;
const MIN_MAJOR = 7;
const VERSION_DEADLINE_MS = 5_000;

/**
 * Result of a search for a Redis server program: a suitable program, or the reason why none was found.
 * `missing` is true if the PATH contains no Redis server program of any version.
 */
export type RedisServerSearch =
  { found: true; path: string; version: string } | { found: false; missing: boolean; reason: string };

/**
 * Searches the PATH for `redis-server` or `valkey-server`, version 7.0 or newer. Returns the first suitable program.
 */
export async function findRedisServer(): Promise<RedisServerSearch> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((part) => part !== '');
  const unfit: string[] = [];
  for (const name of NAMES) {
    for (const folder of folders) {
      const program = join(folder, name);
      if (!(await isProgram(program))) continue;
      const version = await versionOf(program);
      if (version !== undefined && Number.parseInt(version) >= MIN_MAJOR) {
        return { found: true, path: program, version };
      }
      unfit.push(`${program} is ${version === undefined ? 'of an unknown version' : `version ${version}`}`);
    }
  }
  return {
    found: false,
    missing: unfit.length === 0,
    reason:
      unfit.length === 0
        ? `no ${NAMES.join(' or ')} on the PATH`
        : `${unfit.join(', ')}, but ${MIN_MAJOR}.0 or newer is needed`,
  };
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs the program and returns the version that it prints, such as `7.0.15` from `Redis server v=7.0.15 …`.
 * Returns undefined if the version is unknown.
 */
async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: VERSION_DEADLINE_MS });
    return /\bv=(\d+(?:\.\w+)*)/.exec(stdout)?.[1];
  } catch {
    // The program cannot be executed, so its version is unknown.
    return undefined;
  }
}
