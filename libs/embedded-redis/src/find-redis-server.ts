import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const NAMES = ['redis-server', 'valkey-server'] as const;
const OLDEST_MAJOR = 7;
const VERSION_DEADLINE_MS = 5_000;

/** A Redis server program that is new enough, or why there is none: `missing`, or a sentence about those that are. */
export type RedisServerSearch =
  { found: true; path: string; version: string } | { found: false; missing: boolean; reason: string };

/** Looks on the PATH for `redis-server` or `valkey-server`, 7.0 or newer, and takes the first that serves. */
export async function findRedisServer(path = process.env['PATH'] ?? ''): Promise<RedisServerSearch> {
  const unfit: string[] = [];
  for (const name of NAMES) {
    for (const folder of path.split(delimiter).filter((part) => part !== '')) {
      const program = join(folder, name);
      if (!(await isProgram(program))) continue;
      const version = await versionOf(program);
      if (version !== undefined && Number.parseInt(version) >= OLDEST_MAJOR) {
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
        : `${unfit.join(', ')}, but ${OLDEST_MAJOR}.0 or newer is needed`,
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

/** The version that the program prints: `Redis server v=7.0.15 …`, `Valkey server v=8.0.1 …`. */
async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: VERSION_DEADLINE_MS });
    return /\bv=(\d+(?:\.\w+)*)/.exec(stdout)?.[1];
  } catch {
    // It does not run here: as good as of an unknown version.
    return undefined;
  }
}
