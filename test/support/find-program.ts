import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Returns the path of a program in the folders of PATH or in the given folders, or undefined if it is missing. */
export function findProgram(name: string, otherFolders: readonly string[] = []): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), ...otherFolders]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
