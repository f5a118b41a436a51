import { LogFile } from './log-file.js';
import { consoleLineOf } from './console-line.js';

/** Maximum number of console lines of a process per window. */
const MAX_LINES_PER_WINDOW = 20;
const WINDOW_MS = 10_000;

/**
 * Records the output of a process: all lines in its log file, important lines on the console, prefixed with
 * the name of the process.
 */
export class OutputRecorder {
  private readonly log: LogFile;
  private windowEnd = 0;
  private shown = 0;

  constructor(
    private readonly name: string,
    private readonly path: string,
    private readonly print: (line: string) => void,
  ) {
    this.log = new LogFile(path);
  }

  /** Records a line of standard output. Shows the line on the console if it is a warning or an error. */
  output(line: string): void {
    this.record(line);
    const digest = consoleLineOf(line);
    if (digest !== undefined) this.show(digest);
  }

  /** Records a line of standard error and shows the line on the console. */
  error(line: string): void {
    this.record(line);
    if (line.trim() !== '') this.show(consoleLineOf(line) ?? line);
  }

  /** Writes a line to the log file only. */
  record(line: string): void {
    if (!this.log.write(line)) this.print(`${this.name}: cannot write the log file ${this.path}`);
  }

  close(): void {
    this.log.close();
  }

  /**
   * Shows a line on the console. Shows only the first lines per window: a failing process can log the same
   * error a thousand times a second.
   */
  private show(words: string): void {
    const now = performance.now();
    if (now > this.windowEnd) {
      this.windowEnd = now + WINDOW_MS;
      this.shown = 0;
    }
    this.shown++;
    if (this.shown <= MAX_LINES_PER_WINDOW) this.print(`${this.name}: ${words}`);
    else if (this.shown === MAX_LINES_PER_WINDOW + 1)
      this.print(
        `${this.name}: … for up to ${WINDOW_MS / 1_000} seconds, further lines are only in the file ${this.path}`,
      );
  }
}
