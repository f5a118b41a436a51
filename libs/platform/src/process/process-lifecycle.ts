import { ConfigurationError } from '../environment/configuration-error.js';
import { toLoggedError } from '../log/logged-error.js';
import { ignoreStdoutAndStderrErrors } from './process-output.js';

/** A started process: its port, and the function that stops it. */
export interface RunningProcess {
  /** Port on which the process listens. */
  readonly port: number;
  /**
   * Starts no new work, finishes the work in progress and closes all resources. If this method does not resolve
   * within {@link PROCESS_STOP_TIMEOUT_MS}, the process exits with an error.
   */
  stop(): Promise<void>;
}

/** The methods of a logger that report the end of a process. */
export interface ProcessLog {
  info(details: object, words: string): void;
  fatal(details: object, words: string): void;
}

/** What the start function of a process gets from {@link runUntilStopSignal}. */
export interface StartContext {
  /** Aborts when the process must stop, so that an unfinished start can end early. */
  readonly signal: AbortSignal;
  /**
   * Sets the logger of the process. Until then, nothing is logged, and an error that ends the process is written
   * to standard error.
   */
  readonly setLog: (log: ProcessLog) => void;
  /** Ends the process as if its start had failed with this error. May also be called after the start. */
  readonly fail: (error: unknown) => void;
}

/** The part of Node's `process` that this module uses. Tests replace it. */
export interface ProcessHandle {
  on(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
  readonly send?: ((message: { type: 'ready'; port: number }) => unknown) | undefined;
  readonly stderr: { write(text: string): unknown };
}

/**
 * Maximum duration of a stop, in milliseconds. The documentation promises that a process exits within 20 s of
 * SIGTERM.
 */
export const PROCESS_STOP_TIMEOUT_MS = 19_000;

const EXIT_FAILED = 1;

/**
 * Runs the process that calls this function, a gateway or worker, from start to exit.
 *
 * - A {@link ConfigurationError} is printed, one fault per line. The exit code is 78.
 * - SIGTERM, SIGINT, and the end of the parent's IPC channel stop the process gracefully. The exit code is 0,
 * or 1 if the stop fails or takes too long.
 * - A process with an IPC channel sends `{ type: 'ready', port }` when it accepts requests.
 * - Any other error that `start` throws, and any uncaught error, is logged. The process exits at once with code 1,
 * because its state is unreliable.
 */
export async function runUntilStopSignal(
  start: (context: StartContext) => Promise<RunningProcess>,
  handle: ProcessHandle = process,
): Promise<void> {
  ignoreStdoutAndStderrErrors();
  await new ProcessRun(handle).run(start);
}

class ProcessRun {
  private readonly aborter = new AbortController();
  private log: ProcessLog | undefined;
  private running: RunningProcess | undefined;
  private ending = false;
  private giveUp: NodeJS.Timeout | undefined;

  constructor(private readonly handle: ProcessHandle) {}

  async run(start: (context: StartContext) => Promise<RunningProcess>): Promise<void> {
    this.listen();
    try {
      this.running = await start({
        signal: this.aborter.signal,
        setLog: (log) => {
          this.log = log;
        },
        fail: (error) => {
          this.fail(error);
        },
      });
    } catch (error) {
      clearTimeout(this.giveUp);
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

  /**
   * Stops the process gracefully. If the process has not stopped in time, it exits, even if its start has not ended:
   * a start may wait for Redis without a limit, and not every part of a start ends when the signal aborts. Only the
   * first call has an effect, because after Ctrl-C a process gets two signals: one from the terminal and one from its
   * parent process.
   */
  private end(reason: string): void {
    if (this.ending) return;
    this.ending = true;
    this.aborter.abort(reason);
    this.log?.info({ reason }, 'the process is stopping');
    this.giveUp = setTimeout(() => {
      this.log?.fatal({ afterMs: PROCESS_STOP_TIMEOUT_MS }, 'the process did not stop in time and exits now');
      this.handle.exit(EXIT_FAILED);
    }, PROCESS_STOP_TIMEOUT_MS);
    if (this.running !== undefined) void this.stop(this.running);
  }

  private async stop(running: RunningProcess): Promise<void> {
    try {
      await running.stop();
    } catch (error) {
      this.fail(error);
      return;
    } finally {
      clearTimeout(this.giveUp);
    }
    this.log?.info({}, 'the process has stopped');
    this.handle.exit(0);
  }

  private fail(error: unknown): void {
    if (error instanceof ConfigurationError) {
      for (const fault of error.faults) this.handle.stderr.write(`${fault}\n`);
      this.handle.exit(ConfigurationError.exitCode);
      return;
    }
    const logged = toLoggedError(error);
    if (this.log === undefined) this.handle.stderr.write(`${JSON.stringify(logged)}\n`);
    else this.log.fatal({ error: logged }, 'the process exits because of an error');
    this.handle.exit(EXIT_FAILED);
  }
}

/** Host and port on which a process listens, and the names of the environment variables that set them. */
export interface ListenAddress {
  host: string;
  port: number;
  hostVariable: string;
  portVariable: string;
}

/**
 * Converts the error of a failed `listen`. If the address is in use or unavailable, or if the process lacks
 * permission for it, returns a {@link ConfigurationError} that says which variable to change. Otherwise returns the
 * error itself.
 */
export function explainListenError(error: unknown, address: ListenAddress): unknown {
  const { host, port, hostVariable, portVariable } = address;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const listenAddress = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const other = `${portVariable}=${port + 10 > 65_535 ? port - 10 : port + 10}`;
  switch (code) {
    case 'EADDRINUSE':
      return new ConfigurationError([
        `${portVariable}: the address ${listenAddress} is already in use by another process; choose another port, for example ${other}`,
      ]);
    case 'EACCES':
      return new ConfigurationError([
        `${portVariable}: the user of this process may not listen on ${listenAddress}; choose a port of 1024 or above, for example ${portVariable}=3000`,
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
