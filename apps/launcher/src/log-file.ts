import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Size from which a log file is full, in bytes. A process has at most two: the current and the previous file. */
const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Log file of a process. A full file is renamed to `<path>.1` and replaces the previous one. Lines are
 * written synchronously, so that the last lines before a crash are not lost.
 */
export class LogFile {
  private file: number;
  private size: number;
  private failed = false;

  constructor(
    private readonly path: string,
    private readonly maxBytes = MAX_BYTES,
  ) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.file = openSync(path, 'a', 0o600);
    this.size = fstatSync(this.file).size;
    if (this.size >= maxBytes) this.rotate();
  }

  /**
   * Appends a line. Returns false if the write failed and the previous write succeeded, so that the caller reports
   * only the first of several failures. A failed write throws no error: a full disk stops only the log.
   */
  write(line: string): boolean {
    try {
      if (this.size >= this.maxBytes) this.rotate();
      this.size += writeSync(this.file, `${line}\n`);
      this.failed = false;
      return true;
    } catch {
      const isFirstFailure = !this.failed;
      this.failed = true;
      return !isFirstFailure;
    }
  }

  close(): void {
    closeSync(this.file);
  }

  private rotate(): void {
    try {
      renameSync(this.path, `${this.path}.1`);
    } catch (error) {
      // Somebody removed the file, or an earlier rotation could not create the next file.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
    const full = this.file;
    this.file = openSync(this.path, 'a', 0o600);
    this.size = 0;
    closeSync(full);
  }
}
