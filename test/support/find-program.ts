import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of an installed program, which the folders of PATH or the given folders contain, or undefined. */
export function findProgram(name: string, otherFolders: readonly string[] = []): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), ...otherFolders]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
