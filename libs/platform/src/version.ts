import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The product's version, as its package manifest says. The build stands at another depth than the source. */
export function productVersion(): string {
  for (
    let directory = import.meta.dirname;
    directory !== dirname(directory);
    directory = dirname(directory)
  ) {
    const manifest = join(directory, 'package.json');
    if (existsSync(manifest))
      return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  }
  throw new Error('the package manifest is not above the program');
}
