import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { loggedError } from './logged-error.js';

/** Logger that writes one line of JSON for each entry. Callers must not pass it message texts or secrets. */
export type Logger = PinoLogger;

/** Fields whose values are replaced if a call passes them by mistake, in an entry or up to two levels below. */
const SECRETS = ['apiKey', 'secret', 'password', 'authorization', '["x-api-key"]', 'message', 'text'];

/**
 * Creates a logger that writes to standard output.
 * @param name name of the process: gateway or worker
 */
export function createLogger(name: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    redact: {
      paths: SECRETS.flatMap((field) => {
        const below = field.startsWith('[') ? field : `.${field}`;
        return [field, `*${below}`, `*.*${below}`];
      }),
      censor: '[redacted]',
    },
    serializers: { err: (error: unknown) => loggedError(error) },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, destination ?? standardOutput);
}

/**
 * Standard output through Node's own stream. When the reader of a pipe has gone, Pino's own writer retries endlessly
 * and blocks the process. This writer loses the line, and the process continues.
 */
const standardOutput: DestinationStream = {
  write: (line) => {
    process.stdout.write(line);
  },
};
