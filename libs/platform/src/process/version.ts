import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Number of characters of the source digest in the version of a build. */
const DIGEST_LENGTH = 8;

/**
 * Matches the paths of the source files of the gateway and the worker. The version of a build contains a digest of
 * these files.
 */
const RUNNING = /^(libs|apps\/(gateway|worker))\//;

/** Returns the product's version from package.json. */
export function productVersion(): string {
  const manifest = readFileSync(join(root(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/**
 * Returns the product's version, then `+` and a digest of the source files of the gateway and the worker, as recorded
 * by the last build. Without the file `dist/.build.json`, returns only the product's version.
 */
export function readVersionWithBuildHash(): string {
  const stamp = join(root(), 'dist/.build.json');
  if (!existsSync(stamp)) return productVersion();
  const built = Object.entries(sourcesIn(readFileSync(stamp, 'utf8')))
    .filter(([file]) => RUNNING.test(file))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(built)).digest('hex');
  return `${productVersion()}+${digest.slice(0, DIGEST_LENGTH)}`;
}

/**
 * Returns the digest of each source file from the record that the last build wrote. Returns an empty object
 * if the record cannot be parsed or contains no digests.
 */
function sourcesIn(stamp: string): Record<string, string> {
  try {
    return (JSON.parse(stamp) as { sources?: Record<string, string> }).sources ?? {};
  } catch {
    return {};
  }
}

/**
 * Returns the folder of package.json. The function searches upwards, because compiled files lie deeper than
 * sources.
 */
function root(): string {
  for (
    let directory = import.meta.dirname;
    directory !== dirname(directory);
    directory = dirname(directory)
  ) {
    if (existsSync(join(directory, 'package.json'))) return directory;
  }
  throw new Error('package.json was not found in any parent folder of the program');
}
