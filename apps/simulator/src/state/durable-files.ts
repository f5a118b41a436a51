import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-properties.js';

/** Number of characters written at once. */
const CHUNK = 1_048_576;

/** Replaces a file atomically. After a crash, the file has either its old or its new content. */
export async function replaceFile(path: string, lines: Iterable<string>): Promise<void> {
  const temporary = `${path}.new`;
  await writeLines(temporary, 'w', lines);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Appends lines to a file and syncs the file. */
export async function appendLines(path: string, lines: Iterable<string>): Promise<void> {
  await writeLines(path, 'a', lines);
}

/** Returns the content of a file, or null if the file does not exist. */
export async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Splits a text into lines. `torn` is the text after the last line end. */
export function linesOf(text: Buffer): { lines: string[]; torn: string } {
  const lines: string[] = [];
  let start = 0;
  for (let end = text.indexOf(10); end !== -1; end = text.indexOf(10, start)) {
    lines.push(text.toString('utf8', start, end));
    start = end + 1;
  }
  return { lines, torn: text.toString('utf8', start) };
}

async function writeLines(path: string, flags: 'w' | 'a', lines: Iterable<string>): Promise<void> {
  const file = await open(path, flags);
  try {
    let chunk: string[] = [];
    let size = 0;
    for (const line of lines) {
      chunk.push(line, '\n');
      size += line.length;
      if (size < CHUNK) continue;
      await file.writeFile(chunk.join(''));
      chunk = [];
      size = 0;
    }
    if (chunk.length > 0) await file.writeFile(chunk.join(''));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs a directory. Without the sync, a power loss may undo a rename. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
