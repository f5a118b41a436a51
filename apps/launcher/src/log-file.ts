import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Largest size of a log file, in bytes; with the one before it a process keeps at most twice as much. */
const LARGEST = 5 * 1024 * 1024;

/**
 * A process's log of lines. When it is full it becomes `<path>.1`, in place of the former one.
 * Written at once, not in the background: the last words of a crash are the ones that matter.
 */
export class LogFile {
  private file: number;
  private size: number;
  private failed = false;

  constructor(
    private readonly path: string,
    private readonly largest = LARGEST,
  ) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.file = openSync(path, 'a', 0o600);
    this.size = fstatSync(this.file).size;
    if (this.size >= largest) this.rotate();
  }

  /** Adds a line. Returns false the first time that the disk refuses one: a full disk stops the log, nothing else. */
  write(line: string): boolean {
    try {
      if (this.size >= this.largest) this.rotate();
      this.size += writeSync(this.file, `${line}\n`);
      this.failed = false;
      return true;
    } catch {
      const first = !this.failed;
      this.failed = true;
      return !first;
    }
  }

  close(): void {
    closeSync(this.file);
  }

  private rotate(): void {
    renameSync(this.path, `${this.path}.1`);
    const full = this.file;
    this.file = openSync(this.path, 'a', 0o600);
    this.size = 0;
    closeSync(full);
  }
}
