import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { Tidings, TidingsConnectionError } from '#client';
import type { ExitCode } from './exit-code.js';
import { Output, type TextStream } from './output/output.js';
import { type ConnectionSelection, findConnection, selectionOf } from './settings/connection.js';
import { type Profile, ProfileStore } from './settings/profile-store.js';

/** Maximum number of retries of a request. Lower than the default of the client library, because a person waits. */
const MAX_RETRIES = 2;

/** The parts of the process that the commands use. Tests replace them. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Stream on which questions to the user appear. It is not standard output, because a program may read that. */
  readonly questions: Writable;
  readonly environment: NodeJS.ProcessEnv;
  /** Aborts when the user presses Ctrl-C, or when the process receives SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  /** Aborts when nobody reads standard output any more, for example because a pipe to `head` was closed. */
  readonly outputEnd: AbortSignal;
  /** Sets the exit code of the process. */
  readonly setExitCode: (code: ExitCode) => void;
}

/** Options of every command. */
interface GlobalOptions {
  url?: string;
  profile?: string;
  json?: boolean;
  color?: boolean;
}

/** What a command needs: the gateway, where to print, and when to stop. */
export class CommandContext {
  readonly output: Output;
  readonly profiles: ProfileStore;
  /** The gateway and the profile that options or environment variables select. */
  readonly selected: ConnectionSelection;
  /**
   * Aborts when the user presses Ctrl-C, or when nobody reads standard output any more. Only for work that changes
   * nothing. Work that changes something uses {@link signal}, because it must not stop midway when the output is
   * closed.
   */
  readonly readingSignal: AbortSignal;
  /** Result of {@link connection}. Undefined before its first call. */
  private found: Promise<Profile> | undefined;

  constructor(
    readonly terminal: Terminal,
    options: GlobalOptions,
  ) {
    const { stdout, stderr, environment } = terminal;
    const wantsColor = options.color !== false && (environment['NO_COLOR'] ?? '') === '';
    this.output = new Output(stdout, stderr, options.json === true, wantsColor);
    this.profiles = ProfileStore.ofUser(environment);
    this.selected = selectionOf(options, environment);
    this.readingSignal = AbortSignal.any([terminal.signal, terminal.outputEnd]);
  }

  get signal(): AbortSignal {
    return this.terminal.signal;
  }

  /** Returns a client of the selected gateway. @throws {CommandFault} if there is no API key */
  async client(): Promise<Tidings> {
    const { url, apiKey } = await this.connection();
    return new Tidings({ baseUrl: url, apiKey, maxRetries: MAX_RETRIES });
  }

  /** Sends a request to the API, and returns the parsed JSON of the answer. */
  async call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const tidings = await this.client();
    const signal = method === 'GET' ? this.readingSignal : this.signal;
    return await tidings.call(method, path, body, { signal });
  }

  /**
   * Sends a GET request to the API, and returns the parsed JSON of the answer.
   * @param field a field that every gateway includes in its answer to this request
   * @throws {TidingsConnectionError} if the field is missing, which means that another service has answered
   */
  async read<T extends object>(path: string, field: keyof T & string): Promise<T> {
    const answer = await this.call('GET', path);
    if (typeof answer === 'object' && answer !== null && field in answer) return answer as T;
    throw new TidingsConnectionError(`the answer to GET ${path} is not that of a Tidings gateway`);
  }

  /** Returns address and API key of the selected gateway. @throws {CommandFault} if there is no API key */
  connection(): Promise<Profile> {
    this.found ??= findConnection(this.selected, this.terminal.environment, this.profiles);
    return this.found;
  }
}

/**
 * Returns a function for `Command.action`. The function calls `run` with the context, and with the arguments and the
 * options of the command. If `run` returns an exit code, the process exits with this code.
 */
export function action<Arguments extends unknown[]>(
  terminal: Terminal,
  run: (context: CommandContext, ...given: Arguments) => Promise<ExitCode | undefined>,
): (...given: [...Arguments, Command]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const context = new CommandContext(terminal, command.optsWithGlobals<GlobalOptions>());
    const code = await run(context, ...(given.slice(0, -1) as Arguments));
    if (code !== undefined) terminal.setExitCode(code);
  };
}
