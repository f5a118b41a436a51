import type { Logger } from './logger.js';

/** The framework's own words, in the process's log. It has the shape that Nest asks of a logger. */
export class FrameworkLogger {
  constructor(private readonly logger: Logger) {}

  log(words: unknown, ...rest: unknown[]): void {
    // Every module and route is told of at start: that is detail.
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
      this.logger.error({ ...contextOf(rest), err: words }, 'the web framework reported an error');
    else this.logger.error(contextOf(rest), String(words));
  }

  fatal(words: unknown, ...rest: unknown[]): void {
    this.logger.fatal(contextOf(rest), String(words));
  }
}

/** The speaker is named last. */
function contextOf(rest: readonly unknown[]): { context?: string } {
  const last = rest.at(-1);
  return typeof last === 'string' ? { context: last } : {};
}
