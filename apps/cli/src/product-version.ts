import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the version in the product's package.json, whose relative path differs between the build and the sources.
 * `#platform` has the same function, but is not used here: every command needs the version, and loading `#platform`
 * takes longer than most commands run.
 */
export function productVersion(): string {
  const manifest = ['../../..', '../../../..']
    .map((up) => join(import.meta.dirname, up, 'package.json'))
    .find((path) => existsSync(path));
  if (manifest === undefined) throw new Error('package.json was not found in the folders above the program');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
