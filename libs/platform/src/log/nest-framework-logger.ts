import type { Logger } from './logger.js';

/** Writes the log messages of NestJS to the process's log. Implements the interface of a NestJS logger. */
export class NestFrameworkLogger {
  constructor(private readonly logger: Logger) {}

  log(words: unknown, ...rest: unknown[]): void {
    // At start, NestJS logs every module and route with this method. These entries get the level debug.
    this.logger.debug(contextOf(rest), String(words));
  }

  debug(words: unknown, ...rest: unknown[]): void {
    this.logger.debug(contextOf(rest), String(words));
  }

  verbose(words: unknown, ...rest: unknown[]): void {
    this.logger.trace(contextOf(rest), String(words));
  }

  warn(words: unknown, ...rest: unknown[]): void {
    this.logger.warn(contextOf(rest), String(words));
  }

  error(words: unknown, ...rest: unknown[]): void {
    if (words instanceof Error)
      this.logger.error({ ...contextOf(rest), err: words }, 'NestJS reported an error');
    else this.logger.error(contextOf(rest), String(words));
  }

  fatal(words: unknown, ...rest: unknown[]): void {
    this.logger.fatal(contextOf(rest), String(words));
  }
}

/** Returns the context of a log message. NestJS passes the context as the last argument. */
function contextOf(rest: readonly unknown[]): { context?: string } {
  const last = rest.at(-1);
  return typeof last === 'string' ? { context: last } : {};
}
