import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Characters of the digest that tell one build from another. */
const DIGEST_LENGTH = 8;

/** What runs together, and must be of one build. */
const RUNNING = /^(libs|apps\/(gateway|worker))\//;

/** The product's version, as its package manifest says. */
export function productVersion(): string {
  const manifest = readFileSync(join(root(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** The product's version, and a digest of the sources that it was built from, as far as the build noted them. */
export function buildVersion(): string {
  const stamp = join(root(), 'dist/.build.json');
  if (!existsSync(stamp)) return productVersion();
  const built = Object.entries(sourcesIn(readFileSync(stamp, 'utf8')))
    .filter(([file]) => RUNNING.test(file))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(built)).digest('hex');
  return `${productVersion()}+${digest.slice(0, DIGEST_LENGTH)}`;
}

/** The digest of each source; none where the build left something else there. */
function sourcesIn(stamp: string): Record<string, string> {
  try {
    return (JSON.parse(stamp) as { sources?: Record<string, string> }).sources ?? {};
  } catch {
    return {};
  }
}

/** The folder of the manifest: the build stands at another depth than the source. */
function root(): string {
  for (
    let directory = import.meta.dirname;
    directory !== dirname(directory);
    directory = dirname(directory)
  ) {
    if (existsSync(join(directory, 'package.json'))) return directory;
  }
  throw new Error('the package manifest is not above the program');
}
