import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system in memory (Linux). */
const IN_MEMORY = '/dev/shm';
/** Required free space in bytes. All Redis servers of a test run together write less. */
const REQUIRED_BYTES = 4 * 1_024 ** 3;

/**
 * Creates a directory for the data of a Redis server, in memory if there is enough space. Written data survives the end
 * of the Redis process there as on a disk, but no test waits for a disk. Trials and benchmarks use the disk, because
 * they measure.
 */
export async function redisDirectory(prefix: string): Promise<string> {
  return await mkdtemp(join(!isMeasured() && (await hasRoom()) ? IN_MEMORY : tmpdir(), prefix));
}

function isMeasured(): boolean {
  return process.env['TIDINGS_LONG'] === '1' || process.env['JEST_WORKER_ID'] === undefined;
}

async function hasRoom(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(IN_MEMORY);
    return bavail * bsize >= REQUIRED_BYTES;
  } catch {
    return false;
  }
}
