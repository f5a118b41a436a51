import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Time within which a program must answer a request, in milliseconds. */
const ANSWER_TIMEOUT_MS = 180_000;

/** A program of `programs/` in a process of its own, so that its work does not slow down what is measured. */
export class Program implements AsyncDisposable {
  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
  ) {}

  /** Starts a program. @param settings what the program needs, passed to `serveRequests` */
  static start(name: string, settings: object): Program {
    const script = join(import.meta.dirname, 'programs', `${name}.js`);
    return new Program(name, fork(script, [JSON.stringify(settings)], { env: { PATH: process.env.PATH } }));
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.name} is not running`);
    return this.child.pid;
  }

  /** Sends a request and waits for its answer. Only one request may be in progress. */
  async ask<T>(request: object): Promise<T> {
    const stop = new AbortController();
    const { signal } = stop;
    try {
      const answer = once(this.child, 'message', { signal });
      const ended = once(this.child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${this.name} ended with ${String(code)}`);
      });
      const late = pause(ANSWER_TIMEOUT_MS, undefined, { signal }).then(() => {
        throw new Error(`${this.name} did not answer within ${ANSWER_TIMEOUT_MS} ms`);
      });
      for (const one of [answer, ended, late]) one.catch(() => undefined);
      this.child.send(request);
      const [message] = (await Promise.race([answer, ended, late])) as [{ error?: string; result: T }];
      if (message.error !== undefined) throw new Error(`${this.name}: ${message.error}`);
      return message.result;
    } finally {
      stop.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

/**
 * Runs in a program: answers the requests of {@link Program.ask}.
 * @param open called once with the settings @returns what answers a request
 */
export function serveRequests(open: (settings: never) => Promise<(request: never) => unknown>): void {
  const opened = open(JSON.parse(process.argv[2] ?? '{}') as never);
  process.on('message', (request) => {
    opened
      .then(async (answer) => await answer(request as never))
      .then(
        (result) => process.send?.({ result }),
        (error: unknown) => process.send?.({ error: String(error) }),
      );
  });
  // The parent may be killed.
  process.on('disconnect', () => process.exit());
}
