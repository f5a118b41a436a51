import { ConfigurationError } from '../environment/configuration-error.js';
import { loggedError } from '../log/logged-error.js';
import { ignoreBrokenOutput } from './process-output.js';

/** Everything a process has opened, and how to end it. */
export interface RunningProcess {
  /** The port it answers on. */
  readonly port: number;
  /** Takes no new work, ends what is in flight, closes what is open. Resolves within {@link STOP_WITHIN_MS}. */
  stop(): Promise<void>;
}

/** What a process needs to tell of its own end. */
export interface ProcessLog {
  info(details: object, words: string): void;
  fatal(details: object, words: string): void;
}

/** What a starting process is given. */
export interface StartContext {
  /** Aborts when the process is asked to end before it has started. */
  readonly signal: AbortSignal;
  /** Entries go there from now on, instead of to standard error. */
  readonly useLog: (log: ProcessLog) => void;
  /** Ends the process later on, as if its start had failed with this error. */
  readonly fail: (error: unknown) => void;
}

/** The part of Node's `process` that a life needs; a port, so that its rules can be tested. */
export interface ProcessHandle {
  on(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
  readonly send?: ((message: { type: 'ready'; port: number }) => unknown) | undefined;
  readonly stderr: { write(text: string): unknown };
}

/** A stop that takes longer is given up: whoever asked for it waits for 20 s before it kills. */
export const STOP_WITHIN_MS = 19_000;

const EXIT_FAILED = 1;

/**
 * Runs one process of the product from start to exit.
 *
 * - A {@link ConfigurationError} is printed, one fault a line, and ends it with exit code 78.
 * - SIGTERM, SIGINT, and the end of the parent's IPC channel stop it in good order, with exit code 0.
 * - Spawned with an IPC channel, it sends `{ type: 'ready', port }` once it answers.
 * - An uncaught error is logged and ends the process with exit code 1, because its state may be corrupt.
 */
export async function runProcess(
  start: (context: StartContext) => Promise<RunningProcess>,
  handle: ProcessHandle = process,
): Promise<void> {
  ignoreBrokenOutput();
  await new Life(handle).run(start);
}

class Life {
  private readonly aborter = new AbortController();
  private log: ProcessLog | undefined;
  private running: RunningProcess | undefined;
  private ending = false;

  constructor(private readonly handle: ProcessHandle) {}

  async run(start: (context: StartContext) => Promise<RunningProcess>): Promise<void> {
    this.listen();
    try {
      this.running = await start({
        signal: this.aborter.signal,
        useLog: (log) => {
          this.log = log;
        },
        fail: (error) => {
          this.fail(error);
        },
      });
    } catch (error) {
      if (this.aborter.signal.aborted) this.handle.exit(0);
      else this.fail(error);
      return;
    }
    if (this.aborter.signal.aborted) {
      await this.stop(this.running);
      return;
    }
    this.handle.send?.({ type: 'ready', port: this.running.port });
  }

  private listen(): void {
    for (const signal of ['SIGTERM', 'SIGINT']) {
      this.handle.on(signal, () => {
        this.end(signal);
      });
    }
    this.handle.on('disconnect', () => {
      this.end('the end of the parent process');
    });
    for (const event of ['uncaughtException', 'unhandledRejection']) {
      this.handle.on(event, (error) => {
        this.fail(error);
      });
    }
  }

  /** Ends in good order, once: Ctrl-C reaches a process from the terminal, and again through its parent. */
  private end(reason: string): void {
    if (this.ending) return;
    this.ending = true;
    this.aborter.abort(reason);
    this.log?.info({ reason }, 'stopping');
    if (this.running !== undefined) void this.stop(this.running);
  }

  private async stop(running: RunningProcess): Promise<void> {
    const giveUp = setTimeout(() => {
      this.log?.fatal({ afterMs: STOP_WITHIN_MS }, 'the process did not stop in time and exits now');
      this.handle.exit(EXIT_FAILED);
    }, STOP_WITHIN_MS);
    try {
      await running.stop();
    } catch (error) {
      this.fail(error);
      return;
    } finally {
      clearTimeout(giveUp);
    }
    this.log?.info({}, 'stopped');
    this.handle.exit(0);
  }

  private fail(error: unknown): void {
    if (error instanceof ConfigurationError) {
      for (const fault of error.faults) this.handle.stderr.write(`${fault}\n`);
      this.handle.exit(ConfigurationError.exitCode);
      return;
    }
    const logged = loggedError(error);
    if (this.log === undefined) this.handle.stderr.write(`${JSON.stringify(logged)}\n`);
    else this.log.fatal({ error: logged }, 'the process exits because of an uncaught error');
    this.handle.exit(EXIT_FAILED);
  }
}

/** Where a process wants to listen, and the variables that say so. */
export interface ListenAddress {
  host: string;
  port: number;
  hostVariable: string;
  portVariable: string;
}

/**
 * The error of a failed `listen` in words that say what to change: a {@link ConfigurationError} for an address that
 * is taken or not to be had, else the error itself.
 */
export function listenFault(error: unknown, address: ListenAddress): unknown {
  const { host, port, hostVariable, portVariable } = address;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const other = `${portVariable}=${port + 10 > 65_535 ? port - 10 : port + 10}`;
  switch (code) {
    case 'EADDRINUSE':
      return new ConfigurationError([
        `${portVariable}: the address ${place} is already in use by another process; choose another port, for example ${other}`,
      ]);
    case 'EACCES':
      return new ConfigurationError([
        `${portVariable}: the user of this process may not listen on ${place}; choose a port of 1024 or above, for example ${portVariable}=3000`,
      ]);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ConfigurationError([
        `${hostVariable}: ${host} is not an address of this machine; choose another address, for example ${hostVariable}=127.0.0.1`,
      ]);
    default:
      return error;
  }
}
