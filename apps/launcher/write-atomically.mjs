import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file in one step: a process that reads it meanwhile gets either the old or the new content.
 * @param {string} path
 * @param {string} text
 */
export async function writeAtomically(path, text) {
  const draft = `${path}.${process.pid}.tmp`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(draft, text);
  await rename(draft, path);
}
