import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Answer } from './answers.mjs';
import type { Names } from './caller.mjs';

/** What `make-snapshot.mjs` saved of an installation. */
export interface Snapshot {
  commit: string;
  madeAt: string;
  keys: { api: string; encryption: string };
  names: Names;
  /** The last replies of the old build. */
  answers: Answer[];
  /** Contents by path, a character per byte. */
  files: Record<string, string>;
}

/**
 * Reads a snapshot.
 * @param name short hash of the commit whose build stored the data
 * @throws {Error} if the clock of this machine is before the snapshot: what was due then is not due yet
 */
export async function readSnapshot(name: string): Promise<Snapshot> {
  const packed = await readFile(join(import.meta.dirname, 'snapshots', `${name}.json.gz`));
  const snapshot = JSON.parse(gunzipSync(packed).toString()) as Snapshot;
  if (Date.now() < Date.parse(snapshot.madeAt))
    throw new Error(`the clock of this machine is before ${snapshot.madeAt}, when the snapshot was made`);
  return snapshot;
}

/** Writes the files of a snapshot, like the restore of a backup. */
export async function restoreFiles({ files }: Snapshot, directory: string): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content, 'latin1');
  }
}
