import { LogFile } from './log-file.js';
import { digestOfLog } from './digest-of-log.js';

const BURST = 20;
const WINDOW_MS = 10_000;

/** Takes down what a process says: everything in its log, what matters on the console, under the process's name. */
export class Narrator {
  private readonly log: LogFile;
  private windowEnd = 0;
  private shown = 0;

  constructor(
    private readonly name: string,
    private readonly path: string,
    private readonly say: (line: string) => void,
  ) {
    this.log = new LogFile(path);
  }

  /** A line of standard output: shown if it is a log entry of weight. */
  output(line: string): void {
    this.record(line);
    const digest = digestOfLog(line);
    if (digest !== undefined) this.show(digest);
  }

  /** A line of standard error: shown, since processes put there what people must read. */
  error(line: string): void {
    this.record(line);
    if (line.trim() !== '') this.show(digestOfLog(line) ?? line);
  }

  /** A line for the log alone. */
  record(line: string): void {
    if (!this.log.write(line)) this.say(`${this.name}: its log ${this.path} cannot be written`);
  }

  close(): void {
    this.log.close();
  }

  /** A process in trouble can say the same a thousand times a second; the console shows the beginning. */
  private show(words: string): void {
    const now = performance.now();
    if (now > this.windowEnd) {
      this.windowEnd = now + WINDOW_MS;
      this.shown = 0;
    }
    this.shown++;
    if (this.shown <= BURST) this.say(`${this.name}: ${words}`);
    else if (this.shown === BURST + 1) this.say(`${this.name}: … more in ${this.path}`);
  }
}
